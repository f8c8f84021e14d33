#include "log/utf8.hpp"

extern "C" {
#include "catalog/namespace.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"
}

namespace outbox::log {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

// Converts what it can from the start of the text; returns how many bytes of it that were. Writes a NUL behind.
int convert_some(std::string_view text, char *out)
{
    const auto *source = reinterpret_cast<const unsigned char *>(text.data());
    const int size = static_cast<int>(std::min<std::size_t>(text.size(), INT_MAX / MAX_CONVERSION_GROWTH - 1));

    // SQL_ASCII promises nothing: what happens to be UTF-8 is taken as it is.
    if (GetDatabaseEncoding() == PG_SQL_ASCII) {
        const int valid = pg_encoding_verifymbstr(PG_UTF8, text.data(), size);
        std::memcpy(out, source, valid);
        out[valid] = '\0';
        return valid;
    }

    static Oid conversion = InvalidOid;
    if (!OidIsValid(conversion))
        conversion = FindDefaultConversionProc(GetDatabaseEncoding(), PG_UTF8);
    if (!OidIsValid(conversion))
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_FUNCTION),
                errmsg("default conversion function for encoding \"%s\" to \"UTF8\" does not exist",
                       GetDatabaseEncodingName()),
                errdetail("Events are published as UTF-8."), errhint("Create the conversion again."));
    return pg_do_encoding_conversion_buf(
        conversion, GetDatabaseEncoding(), PG_UTF8, const_cast<unsigned char *>(source), size,
        reinterpret_cast<unsigned char *>(out), size * MAX_CONVERSION_GROWTH + 1, true);
}

} // namespace

std::string_view to_utf8(std::string_view text)
{
    if (GetDatabaseEncoding() == PG_UTF8 || text.empty())
        return text;

    // No character takes more room than this, its replacement included.
    static_assert(replacement.size() <= MAX_CONVERSION_GROWTH);
    auto *buffer =
        static_cast<char *>(MemoryContextAllocHuge(CurrentMemoryContext, text.size() * MAX_CONVERSION_GROWTH + 1));
    char *end = buffer;
    while (!text.empty()) {
        const int converted = convert_some(text, end);
        text.remove_prefix(converted);
        end += std::strlen(end);
        if (converted == 0) {
            std::memcpy(end, replacement.data(), replacement.size());
            end += replacement.size();
            const auto width = static_cast<std::size_t>(pg_encoding_mblen(GetDatabaseEncoding(), text.data()));
            text.remove_prefix(std::min(width, text.size()));
        }
    }
    return {buffer, static_cast<std::size_t>(end - buffer)};
}

std::string_view from_utf8(std::string_view text)
{
    if (GetDatabaseEncoding() == PG_UTF8 || GetDatabaseEncoding() == PG_SQL_ASCII || text.empty())
        return text;

    const Oid conversion = FindDefaultConversionProc(PG_UTF8, GetDatabaseEncoding());
    const std::size_t room = text.size() * MAX_CONVERSION_GROWTH + 1;
    auto *buffer = static_cast<char *>(palloc(room));
    char *end = buffer;
    while (!text.empty()) {
        const int converted =
            OidIsValid(conversion)
                ? pg_do_encoding_conversion_buf(
                      conversion, PG_UTF8, GetDatabaseEncoding(),
                      const_cast<unsigned char *>(reinterpret_cast<const unsigned char *>(text.data())),
                      static_cast<int>(text.size()), reinterpret_cast<unsigned char *>(end),
                      static_cast<int>(room - static_cast<std::size_t>(end - buffer)), true)
                : 0;
        text.remove_prefix(static_cast<std::size_t>(converted));
        end += converted > 0 ? std::strlen(end) : 0;
        if (converted == 0) {
            *end++ = '?';
            text.remove_prefix(
                std::min<std::size_t>(pg_utf_mblen(reinterpret_cast<const unsigned char *>(text.data())), text.size()));
        }
    }
    return {buffer, static_cast<std::size_t>(end - buffer)};
}

} // namespace outbox::log
