#include "log/progress.hpp"

#include "pg/query.hpp"

namespace outbox::log {

std::optional<Progress> load_progress(int relay_id, int lane)
{
    const std::vector<pg::Row> rows =
        pg::query("SELECT seq, settled, done, upper, last_id, outstanding, highest_id FROM outbox.progress"
                  " WHERE relay_id = $1::int AND lane = $2::smallint ORDER BY seq DESC LIMIT 1",
                  {std::to_string(relay_id), std::to_string(lane)});
    if (rows.empty())
        return std::nullopt;

    const pg::Row &row = rows.front();
    Progress progress;
    progress.seq = std::stoll(row[0].value());
    progress.settled = std::stoll(row[1].value());
    progress.position.done = Snapshot::parse(row[2].value());
    if (row[3])
        progress.position.open = OpenWindow{Snapshot::parse(*row[3]), {std::stoll(row[4].value())}};
    progress.position.outstanding = IdRanges::parse(row[5].value());
    progress.highest = {std::stoll(row[6].value())};
    return progress;
}

void record_progress(int relay_id, int lane, const Progress &progress)
{
    const Position &position = progress.position;
    pg::Value upper;
    pg::Value last;
    if (position.open) {
        upper = position.open->upper.text();
        last = std::to_string(position.open->last.value);
    }
    pg::query("INSERT INTO outbox.progress (relay_id, lane, seq, done, upper, last_id, outstanding, settled,"
              " highest_id)"
              " VALUES ($1::int, $2::smallint, $3::bigint, $4::pg_snapshot, $5::pg_snapshot, $6::bigint,"
              " $7::int8multirange, $8::bigint, $9::bigint)",
              {std::to_string(relay_id), std::to_string(lane), std::to_string(progress.seq), position.done.text(),
               upper, last, position.outstanding.text(), std::to_string(progress.settled),
               std::to_string(progress.highest.value)});
}

} // namespace outbox::log
