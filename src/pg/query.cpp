#include "pg/query.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
}

namespace outbox::pg {

namespace {

// The result as the guarded part leaves it: palloc'd in the caller's memory context, row after row.
struct RawResult {
    char **values; // null: SQL null
    std::size_t rows;
    std::size_t columns;
};

RawResult run(const char *statement, int count, const char *const *arguments, MemoryContext result_context)
{
    auto *types = static_cast<Oid *>(palloc0(sizeof(Oid) * (count + 1)));
    auto *values = static_cast<Datum *>(palloc0(sizeof(Datum) * (count + 1)));
    auto *nulls = static_cast<char *>(palloc0(count + 1));
    for (int i = 0; i < count; ++i) {
        types[i] = TEXTOID;
        nulls[i] = arguments[i] == nullptr ? 'n' : ' ';
        if (arguments[i] != nullptr)
            values[i] = CStringGetTextDatum(arguments[i]);
    }

    SPI_connect();
    PushActiveSnapshot(GetTransactionSnapshot());
    const int code = SPI_execute_with_args(statement, count, types, values, nulls, false, 0);
    if (code < 0)
        elog(ERROR, "SPI_execute_with_args failed: %s", SPI_result_code_string(code));

    RawResult result{};
    if (SPI_tuptable != nullptr) {
        MemoryContext spi_context = MemoryContextSwitchTo(result_context);
        TupleDesc descriptor = SPI_tuptable->tupdesc;
        result.rows = SPI_processed;
        result.columns = static_cast<std::size_t>(descriptor->natts);
        result.values = static_cast<char **>(palloc0(sizeof(char *) * (result.rows * result.columns + 1)));
        for (std::size_t row = 0; row < result.rows; ++row)
            for (std::size_t column = 0; column < result.columns; ++column)
                result.values[row * result.columns + column] =
                    SPI_getvalue(SPI_tuptable->vals[row], descriptor, static_cast<int>(column) + 1);
        MemoryContextSwitchTo(spi_context);
    }
    PopActiveSnapshot();
    SPI_finish();
    return result;
}

} // namespace

std::vector<Row> query(const std::string &statement, const std::vector<Value> &arguments)
{
    std::vector<const char *> texts;
    texts.reserve(arguments.size());
    for (const Value &argument : arguments)
        texts.push_back(argument ? argument->c_str() : nullptr);

    MemoryContext context = CurrentMemoryContext;
    const RawResult raw =
        call([&] { return run(statement.c_str(), static_cast<int>(texts.size()), texts.data(), context); });

    std::vector<Row> rows(raw.rows, Row(raw.columns));
    for (std::size_t row = 0; row < raw.rows; ++row)
        for (std::size_t column = 0; column < raw.columns; ++column)
            if (const char *value = raw.values[row * raw.columns + column])
                rows[row][column] = value;
    return rows;
}

std::string text_argument(FunctionCallInfo fcinfo, int number)
{
    return call([&] { return text_to_cstring(PG_GETARG_TEXT_PP(number)); });
}

} // namespace outbox::pg
