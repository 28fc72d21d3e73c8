"""Attendance: decisions become check-ins and check-outs, and those become hours."""
