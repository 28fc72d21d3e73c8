"""Periods as people name them: a day, a week, a month, from one day to another."""

from __future__ import annotations

import re
from datetime import date, timedelta

from edgefaced.attendance.reading import EVER, Period
from edgefaced.errors import UsageError


def day_named(text: str, today: date) -> date:
    """ "today", "yesterday" or "2026-03-02". Raises UsageError."""
    if text in ("today", "yesterday"):
        return today - timedelta(days=text == "yesterday")
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass
    raise UsageError(f"{text} is no day", 'like "2026-03-02", "today" or "yesterday"')


def week_named(text: str, today: date) -> Period:
    """ "this", "last" or "2026-W10", from Monday to Sunday. Raises UsageError."""
    if text in ("this", "last"):
        return _week(today - timedelta(weeks=text == "last"))
    if found := re.fullmatch(r"(\d{4})-?[Ww](\d{1,2})", text):
        try:
            return _week(date.fromisocalendar(int(found[1]), int(found[2]), 1))
        except (ValueError, OverflowError):
            pass
    raise UsageError(f"{text} is no week", 'like "2026-W10", "this" or "last"')


def month_named(text: str, today: date) -> Period:
    """ "this", "last" or "2026-03". Raises UsageError."""
    if text in ("this", "last"):
        first = today.replace(day=1)
        return _month(first - timedelta(days=1) if text == "last" else first)
    if found := re.fullmatch(r"(\d{4})-(\d{1,2})", text):
        try:
            return _month(date(int(found[1]), int(found[2]), 1))
        except (ValueError, OverflowError):
            pass
    raise UsageError(f"{text} is no month", 'like "2026-03", "this" or "last"')


def period_named(
    today: date,
    *,
    day: str | None = None,
    week: str | None = None,
    month: str | None = None,
    first: str | None = None,
    last: str | None = None,
) -> Period | None:
    """The period of the one that is given, None where none is. Raises UsageError for two."""
    spans = [day, week, month, first or last]
    if sum(span is not None for span in spans) > 1:
        raise UsageError("--day, --week, --month and --from/--to exclude each other")
    if day is not None:
        one = day_named(day, today)
        return Period(one, one)
    if week is not None:
        return week_named(week, today)
    if month is not None:
        return month_named(month, today)
    if first is None and last is None:
        return None
    period = Period(
        EVER.first if first is None else day_named(first, today),
        EVER.last if last is None else day_named(last, today),
    )
    if period.first > period.last:
        raise UsageError(f"{first} is later than {last}", "--from comes before --to")
    return period


def _week(day: date) -> Period:
    monday = day - timedelta(days=day.weekday())
    return Period(monday, monday + timedelta(days=6))


def _month(day: date) -> Period:
    first = day.replace(day=1)
    return Period(first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1))
