// SPDX-License-Identifier: GPL-2.0
/*
 * A thermal zone "soc-thermal" that is as hot as a test writes, in thousandths of a degree, to
 * /sys/module/fakethermal/parameters/temperature. Removing the module removes the zone.
 */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/thermal.h>

static int temperature = 45000;
module_param(temperature, int, 0644);

static int get_temp(struct thermal_zone_device *zone, int *reading)
{
	*reading = READ_ONCE(temperature);
	return 0;
}

static const struct thermal_zone_device_ops ops = { .get_temp = get_temp };
static struct thermal_zone_device *zone;

static int __init start(void)
{
	zone = thermal_tripless_zone_device_register("soc-thermal", NULL, &ops, NULL);
	return IS_ERR(zone) ? PTR_ERR(zone) : thermal_zone_device_enable(zone);
}

static void __exit stop(void)
{
	thermal_zone_device_unregister(zone);
}

module_init(start);
module_exit(stop);
MODULE_DESCRIPTION("Thermal zone that is as hot as it is told, for tests");
MODULE_LICENSE("GPL");
