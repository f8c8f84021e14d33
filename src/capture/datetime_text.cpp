#include "capture/datetime_text.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/json.h"
}

namespace outbox::capture {

namespace {

// Days since 2000-01-01 of the years that have four digits. All others, and infinity, are left to the server.
constexpr int first_plain_day = -730119; // 0001-01-01
constexpr int first_day_of_year_10k = 2921940;

bool is_plain(std::int64_t day)
{
    return day >= first_plain_day && day < first_day_of_year_10k;
}

char *write_by_server(char *text, Datum value, Oid type)
{
    static const int utc = 0;
    JsonEncodeDateTime(text, value, type, &utc);
    return text + strlen(text);
}

char *write_two_digits(char *text, int number)
{
    text[0] = static_cast<char>('0' + number / 10);
    text[1] = static_cast<char>('0' + number % 10);
    return text + 2;
}

char *write_day(char *text, int day)
{
    int year = 0;
    int month = 0;
    int day_of_month = 0;
    j2date(day + POSTGRES_EPOCH_JDATE, &year, &month, &day_of_month);
    text = write_two_digits(text, year / 100);
    text = write_two_digits(text, year % 100);
    *text++ = '-';
    text = write_two_digits(text, month);
    *text++ = '-';
    return write_two_digits(text, day_of_month);
}

// Without trailing zeros, and nothing at all for a whole second.
char *write_fraction(char *text, int microseconds)
{
    if (microseconds == 0)
        return text;
    *text++ = '.';
    for (int unit = USECS_PER_SEC / 10; microseconds != 0; unit /= 10) {
        *text++ = static_cast<char>('0' + microseconds / unit);
        microseconds %= unit;
    }
    return text;
}

char *write_time(char *text, std::int64_t microseconds)
{
    const int seconds = static_cast<int>(microseconds / USECS_PER_SEC);
    text = write_two_digits(text, seconds / SECS_PER_HOUR);
    *text++ = ':';
    text = write_two_digits(text, seconds / SECS_PER_MINUTE % MINS_PER_HOUR);
    *text++ = ':';
    text = write_two_digits(text, seconds % SECS_PER_MINUTE);
    return write_fraction(text, static_cast<int>(microseconds % USECS_PER_SEC));
}

// Returns null for a timestamp that is left to the server.
char *write_plain_timestamp(char *text, Timestamp timestamp)
{
    const std::int64_t time = timestamp % USECS_PER_DAY;
    const std::int64_t before_midnight = time < 0 ? USECS_PER_DAY : 0;
    const std::int64_t day = (timestamp - time - before_midnight) / USECS_PER_DAY;
    if (!is_plain(day))
        return nullptr;
    text = write_day(text, static_cast<int>(day));
    *text++ = 'T';
    return write_time(text, time + before_midnight);
}

} // namespace

char *write_date(char *text, DateADT date)
{
    return is_plain(date) ? write_day(text, date) : write_by_server(text, DateADTGetDatum(date), DATEOID);
}

char *write_timestamp(char *text, Timestamp timestamp)
{
    char *end = write_plain_timestamp(text, timestamp);
    return end != nullptr ? end : write_by_server(text, TimestampGetDatum(timestamp), TIMESTAMPOID);
}

char *write_timestamptz(char *text, TimestampTz timestamp)
{
    char *end = write_plain_timestamp(text, timestamp);
    if (end == nullptr)
        return write_by_server(text, TimestampTzGetDatum(timestamp), TIMESTAMPTZOID);
    constexpr std::string_view utc = "+00:00";
    memcpy(end, utc.data(), utc.size());
    return end + utc.size();
}

} // namespace outbox::capture
