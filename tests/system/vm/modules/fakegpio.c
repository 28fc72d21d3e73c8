// SPDX-License-Identifier: GPL-2.0
/*
 * A GPIO chip of eight outputs without pins. Line 3 is named "relay". Like most real chips it keeps
 * the level of a line that nobody holds any more.
 *
 *   /sys/module/fakegpio/parameters/levels    one bit a line; writing does what a board's reset
 *                                             or a short circuit does
 *   /sys/module/fakegpio/parameters/history   "NS LINE LEVEL" for each change, oldest first, of
 *                                             CLOCK_MONOTONIC; writing anything forgets it
 */
#include <linux/gpio/driver.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/spinlock.h>

#define LINES 8
#define KEPT 128 /* 128 records of at most 27 characters fit into the page of a parameter */

static struct { u64 ns; u8 line, level; } records[KEPT];
static unsigned int recorded;
static u32 levels;
static DEFINE_SPINLOCK(lock);

static void put_level(unsigned int line, int level)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	if (!!(levels & BIT(line)) != !!level) {
		levels ^= BIT(line);
		records[recorded % KEPT].ns = ktime_get_ns();
		records[recorded % KEPT].line = line;
		records[recorded % KEPT].level = !!level;
		recorded++;
	}
	spin_unlock_irqrestore(&lock, flags);
}

static int write_levels(const char *text, const struct kernel_param *param)
{
	u32 wanted;
	int line, error = kstrtou32(text, 0, &wanted);

	for (line = 0; !error && line < LINES; line++)
		put_level(line, !!(wanted & BIT(line)));
	return error;
}

static int read_levels(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%u\n", READ_ONCE(levels));
}

static int forget_history(const char *text, const struct kernel_param *param)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	recorded = 0;
	spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static int read_history(char *text, const struct kernel_param *param)
{
	unsigned int at;
	unsigned long flags;
	int length = 0;

	spin_lock_irqsave(&lock, flags);
	for (at = recorded > KEPT ? recorded - KEPT : 0; at < recorded; at++)
		length += sysfs_emit_at(text, length, "%llu %u %u\n", records[at % KEPT].ns,
					records[at % KEPT].line, records[at % KEPT].level);
	spin_unlock_irqrestore(&lock, flags);
	return length;
}

static const struct kernel_param_ops levels_ops = { .set = write_levels, .get = read_levels };
static const struct kernel_param_ops history_ops = { .set = forget_history, .get = read_history };
module_param_cb(levels, &levels_ops, NULL, 0644);
module_param_cb(history, &history_ops, NULL, 0644);

static int get(struct gpio_chip *chip, unsigned int line)
{
	return !!(READ_ONCE(levels) & BIT(line));
}

static void set(struct gpio_chip *chip, unsigned int line, int level)
{
	put_level(line, level);
}

static int get_direction(struct gpio_chip *chip, unsigned int line)
{
	return GPIO_LINE_DIRECTION_OUT;
}

static int direction_output(struct gpio_chip *chip, unsigned int line, int level)
{
	put_level(line, level);
	return 0;
}

static const char *const names[LINES] = { [3] = "relay" };
static struct platform_device *device;
static struct gpio_chip chip = {
	.label = "fakegpio",
	.owner = THIS_MODULE,
	.base = -1,
	.ngpio = LINES,
	.names = names,
	.get = get,
	.set = set,
	.get_direction = get_direction,
	.direction_output = direction_output,
};

static int __init start(void)
{
	int error;

	device = platform_device_register_simple("fakegpio", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	chip.parent = &device->dev;
	error = gpiochip_add_data(&chip, NULL);
	if (error)
		platform_device_unregister(device);
	return error;
}

static void __exit stop(void)
{
	gpiochip_remove(&chip);
	platform_device_unregister(device);
}

module_init(start);
module_exit(stop);
MODULE_DESCRIPTION("GPIO chip without pins, for tests");
MODULE_LICENSE("GPL");
