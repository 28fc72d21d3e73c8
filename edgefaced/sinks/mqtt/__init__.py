"""Events to an MQTT broker."""
