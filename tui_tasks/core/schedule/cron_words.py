"""A cron schedule in English.

cron_descriptor takes tens of milliseconds to import, so it is imported where it is used.
"""

from tui_tasks.core.schedule.cron import FIELDS, SIZES, WEEKDAYS, Cron, Rule, month_words, rule_of, spans, values_of


def describe(cron: Cron) -> str:
    """Return the schedule in English, 24-hour clock: "every 15 minutes", "09:00 Mon–Fri".

    cron_descriptor describes what has no short form. The text names no zone.
    """
    rule, interval = rule_of(cron), _interval_words(cron)
    days = _day_words(rule)
    if days is not None and interval:
        return f"{interval}, {days}" if days else interval
    if days is not None and len(rule.times) <= 4:
        clock = ", ".join(f"{second // 3600:02}:{second // 60 % 60:02}" for second in rule.times)
        return f"{clock} {days or 'daily'}"
    return _long_words(cron, rule)


def _interval_words(cron: Cron) -> str:
    """Return a description of minute and hour if they make an even interval, otherwise ""."""
    minutes, hours = rule_of(cron).minutes, rule_of(cron).hours
    if len(hours) == 24 and _even("minute", cron.minute):
        return _every(60 // len(minutes), "minute") if len(minutes) > 1 else "every hour"
    if len(minutes) == 1 and len(hours) > 1 and _even("hour", cron.hour):
        at = f" at :{minutes[0]:02}" if minutes[0] else ""
        return _every(24 // len(hours), "hour") + at
    return ""


def _every(count: int, unit: str) -> str:
    return f"every {unit}" if count == 1 else f"every {count} {unit}s"


def _even(field: str, text: str) -> bool:
    """Return whether the field is `*`, or `*/n` with an n that divides its size; only these are even intervals."""
    if text == "*":
        return True
    return text.startswith("*/") and text[2:].isdigit() and SIZES[field] % int(text[2:]) == 0


def _day_words(rule: Rule) -> str | None:
    """Return a description of the three date fields: "" for every day, None without a short form."""
    all_days, all_weekdays = len(rule.days) == 31, len(rule.weekdays) == 7
    if len(rule.months) == 12 and all_days:
        return "" if all_weekdays else _weekday_words(rule.weekdays)
    if all_weekdays and len(rule.days) <= 3:
        if len(rule.months) == 12:
            return f"on day {', '.join(map(str, rule.days))}"
        if len(rule.days) == len(rule.months) == 1:
            return f"on {rule.days[0]} {month_words(rule.months)}"
    return None


def _weekday_words(weekdays: tuple[int, ...]) -> str:
    return spans([(number or 7) for number in weekdays], ("", *WEEKDAYS[1:], WEEKDAYS[0]))


def _long_words(cron: Cron, rule: Rule) -> str:
    from cron_descriptor import Options, get_description  # type: ignore[import-untyped]  # it has no types

    fields = {name: _wordy(name, getattr(cron, name)) for name in FIELDS}
    tail = ""
    if len(rule.days) < 31 and len(rule.weekdays) < 7:
        # cron_descriptor does not distinguish "and" from "or" here.
        tail = f", {'or' if rule.either else 'but only'} on {_weekday_words(rule.weekdays)}"
        tail += "" if len(rule.months) == 12 else f", in {month_words(rule.months)}"
        fields |= {"month": "*", "weekday": "*"}
    else:
        full = {"day": len(rule.days) == 31, "weekday": len(rule.weekdays) == 7}
        fields |= {name: "*" for name, is_full in full.items() if is_full}
    options = Options(use_24hour_time_format=True, locale_code="en_US")
    words = str(get_description(" ".join(fields.values()), options))
    return words[:1].lower() + words[1:] + tail


def _wordy(field: str, text: str) -> str:
    """Return the field in a form that cron_descriptor describes correctly: it takes every step for an even one."""
    values = values_of(field, text)
    if len(values) == SIZES[field]:
        return "*"
    listed = "/" in text and not _even(field, text) and len(values) <= 16
    return ",".join(map(str, values)) if listed else text
