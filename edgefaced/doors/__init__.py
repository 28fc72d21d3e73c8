"""Doors: rules applied, locks driven, buttons and contacts listened to. Fail secure throughout."""
