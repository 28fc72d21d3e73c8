/* A librknnrt that behaves as one does, without an NPU: for call order, error paths and memory, by
   bound memory as our own back end asks for and by copies as rknn-toolkit-lite2 does.

   The "network" adds up and averages the channels of a picture of HEIGHT x WIDTH x 3 bytes and gives
   two tensors of three float32 each. What it is asked is written to the file DOUBLE_LOG; DOUBLE_FAIL
   names a call that answers DOUBLE_CODE (a call that gives memory then gives none). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef HEIGHT
#define HEIGHT 4
#define WIDTH 4
#endif
#ifndef STRIDE
#define STRIDE WIDTH
#endif
#ifndef API_VERSION
#define API_VERSION "2.3.0 (a double)"
#endif

const char banner[] = "librknnrt version: 2.3.0 (a double)";

typedef struct {
    uint32_t index, n_dims, dims[16];
    char name[256];
    uint32_t n_elems, size;
    int32_t fmt, type, qnt_type;
    int8_t fl;
    int32_t zp;
    float scale;
    uint32_t w_stride, size_with_stride;
    uint8_t pass_through;
    uint32_t h_stride;
} attr;

typedef struct {
    void *virt_addr;
    uint64_t phys_addr;
    int32_t fd, offset;
    uint32_t size, flags;
    void *priv_data;
} mem;

typedef struct {
    uint32_t index;
    void *buf;
    uint32_t size;
    uint8_t pass_through;
    int32_t type, fmt;
} input;

typedef struct {
    uint8_t want_float, is_prealloc;
    uint32_t index;
    void *buf;
    uint32_t size;
} output;

typedef struct {
    mem *input, *output[2];
    int open_memories;
    uint8_t *copied; /* what rknn_inputs_set gave */
    float answers[2][3];
} context;

int live_contexts, live_memories; /* for the test: nothing is left behind */

static int answer(const char *call) {
    const char *log = getenv("DOUBLE_LOG"), *fail = getenv("DOUBLE_FAIL");
    if (log) {
        FILE *file = fopen(log, "a");
        if (file) { fprintf(file, "%s\n", call); fclose(file); }
    }
    return fail && !strcmp(fail, call) ? atoi(getenv("DOUBLE_CODE")) : 0;
}

int rknn_init(uint64_t *handle, void *model, uint32_t size, uint32_t flag, void *extend) {
    char call[64];
    int code = answer("rknn_init");
    (void)extend;
    if (code) return code;
    if (size < 8 || memcmp(model, "network:", 8)) return -6;
    snprintf(call, sizeof call, "priority %u", flag);
    answer(call);
    *handle = (uint64_t)(uintptr_t)calloc(1, sizeof(context));
    live_contexts++;
    return 0;
}

int rknn_destroy(uint64_t handle) {
    int code = answer("rknn_destroy");
    context *c = (context *)(uintptr_t)handle;
    if (c->open_memories) return -7; /* given back too late */
    free(c->copied);
    free(c);
    live_contexts--;
    return code;
}

int rknn_set_core_mask(uint64_t handle, int mask) {
    char call[64];
    (void)handle;
    snprintf(call, sizeof call, "cores %d", mask);
    answer(call);
    return answer("rknn_set_core_mask");
}

int rknn_query(uint64_t handle, int command, void *info, uint32_t size) {
    int code = answer("rknn_query");
    (void)handle;
    if (code) return code;
    if (command == 0 && size == 8) {
        ((uint32_t *)info)[0] = 1;
        ((uint32_t *)info)[1] = 2;
    } else if (command == 5 && size == 512) {
        strcpy(info, API_VERSION);
        strcpy((char *)info + 256, "0.9.8");
    } else if (command == 1 && size == sizeof(attr)) {
        attr *a = info;
        uint32_t dims[4] = {1, HEIGHT, WIDTH, 3};
        a->n_dims = 4;
        memcpy(a->dims, dims, sizeof dims);
        strcpy(a->name, "image");
        a->n_elems = a->size = HEIGHT * WIDTH * 3;
        a->fmt = 1;
        a->type = 2;
        a->w_stride = STRIDE;
        a->size_with_stride = HEIGHT * STRIDE * 3;
    } else if (command == 2 && size == sizeof(attr)) {
        attr *a = info;
        if (a->index > 1) return -5;
        a->n_dims = 2;
        a->dims[0] = 1;
        a->dims[1] = a->n_elems = a->size = 3;
        strcpy(a->name, a->index ? "mean" : "sum");
        a->type = 2;
    } else {
        return -5;
    }
    return 0;
}

static mem *new_mem(context *c, void *address, int fd, int offset, uint32_t size, uint32_t flags) {
    mem *m = calloc(1, sizeof *m);
    m->virt_addr = address;
    m->fd = fd;
    m->offset = offset;
    m->size = size;
    m->flags = flags;
    c->open_memories++;
    live_memories++;
    return m;
}

mem *rknn_create_mem(uint64_t handle, uint32_t size) {
    if (answer("rknn_create_mem")) return NULL;
    return new_mem((context *)(uintptr_t)handle, aligned_alloc(64, (size + 63) / 64 * 64), -1, 0, size, 1);
}

mem *rknn_create_mem_from_fd(uint64_t handle, int32_t fd, void *address, uint32_t size, int32_t offset) {
    void *mapped;
    (void)address;
    if (answer("rknn_create_mem_from_fd")) return NULL;
    mapped = mmap(NULL, size + offset, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) return NULL;
    return new_mem((context *)(uintptr_t)handle, mapped, fd, offset, size, 2);
}

int rknn_destroy_mem(uint64_t handle, mem *m) {
    int code = answer("rknn_destroy_mem");
    if (m->flags == 1) free(m->virt_addr);
    else munmap(m->virt_addr, m->size + m->offset);
    free(m);
    ((context *)(uintptr_t)handle)->open_memories--;
    live_memories--;
    return code;
}

int rknn_set_io_mem(uint64_t handle, mem *m, attr *a) {
    context *c = (context *)(uintptr_t)handle;
    int code = answer("rknn_set_io_mem");
    if (code) return code;
    if (!strcmp(a->name, "image")) {
        if (a->type != 3 || a->fmt != 1 || m->size < a->size_with_stride) return -8;
        c->input = m;
    } else {
        if (a->type != 0 || m->size < 4 * a->n_elems || a->index > 1) return -9;
        c->output[a->index] = m;
    }
    return 0;
}

int rknn_mem_sync(uint64_t handle, mem *m, int mode) {
    (void)handle;
    (void)m;
    return answer(mode == 1 ? "sync to device" : "sync from device");
}

static void add_up(context *c, const uint8_t *pixels, int stride) {
    int y, x, k;
    memset(c->answers, 0, sizeof c->answers);
    for (y = 0; y < HEIGHT; y++)
        for (x = 0; x < WIDTH; x++)
            for (k = 0; k < 3; k++) c->answers[0][k] += pixels[(y * stride + x) * 3 + k];
    for (k = 0; k < 3; k++) c->answers[1][k] = c->answers[0][k] / (HEIGHT * WIDTH);
}

int rknn_run(uint64_t handle, void *extend) {
    context *c = (context *)(uintptr_t)handle;
    int code = answer("rknn_run"), i;
    const uint8_t *pixels;
    (void)extend;
    if (code) return code;
    if (c->copied) {
        add_up(c, c->copied, WIDTH);
        return 0;
    }
    if (!c->input || !c->output[0] || !c->output[1]) return -8;
    pixels = (const uint8_t *)c->input->virt_addr + (c->input->flags == 2 ? c->input->offset : 0);
    add_up(c, pixels, STRIDE);
    for (i = 0; i < 2; i++) memcpy(c->output[i]->virt_addr, c->answers[i], sizeof c->answers[i]);
    return 0;
}

int rknn_inputs_set(uint64_t handle, uint32_t count, input *given) {
    context *c = (context *)(uintptr_t)handle;
    int code = answer("rknn_inputs_set");
    const uint32_t size = HEIGHT * WIDTH * 3;
    if (code) return code;
    if (count != 1 || given->size < size || given->type != 3 || given->fmt != 1) return -8;
    if (!c->copied) c->copied = malloc(size);
    memcpy(c->copied, given->buf, size);
    return 0;
}

int rknn_outputs_get(uint64_t handle, uint32_t count, output *wanted, void *extend) {
    context *c = (context *)(uintptr_t)handle;
    int code = answer("rknn_outputs_get");
    uint32_t i;
    (void)extend;
    if (code) return code;
    for (i = 0; i < count && i < 2; i++) {
        if (!wanted[i].is_prealloc) {
            wanted[i].buf = malloc(sizeof c->answers[i]);
            wanted[i].size = sizeof c->answers[i];
        }
        memcpy(wanted[i].buf, c->answers[i], sizeof c->answers[i]);
    }
    return 0;
}

int rknn_outputs_release(uint64_t handle, uint32_t count, output *given) {
    uint32_t i;
    (void)handle;
    for (i = 0; i < count; i++)
        if (!given[i].is_prealloc) free(given[i].buf);
    return answer("rknn_outputs_release");
}

/* Looked for by rknn-toolkit-lite2, and not used for a network of one shape. */
int rknn_set_input_shapes(uint64_t handle, uint32_t count, attr *shapes) {
    (void)handle;
    (void)count;
    (void)shapes;
    return answer("rknn_set_input_shapes");
}
