#include "log/position.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace outbox::log {

namespace {

// Reads a text from left to right; anything unexpected is an error that names the whole text.
class Scanner {
  public:
    Scanner(std::string_view text, const char *type) : text_(text), rest_(text), type_(type) {}

    bool accept(char expected)
    {
        if (rest_.empty() || rest_.front() != expected)
            return false;
        rest_.remove_prefix(1);
        return true;
    }

    void expect(char expected)
    {
        if (!accept(expected))
            fail();
    }

    template <typename Number>
    Number number()
    {
        Number value{};
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error != std::errc{})
            fail();
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return value;
    }

    bool at_end() const { return rest_.empty(); }

    [[noreturn]] void fail() const
    {
        throw std::invalid_argument(std::string("invalid ") + type_ + ": \"" + std::string(text_) + "\"");
    }

  private:
    std::string_view text_;
    std::string_view rest_;
    const char *type_;
};

} // namespace

Snapshot Snapshot::parse(std::string_view text)
{
    Scanner scanner(text, "snapshot");
    Snapshot snapshot;
    snapshot.xmin = scanner.number<std::uint64_t>();
    scanner.expect(':');
    snapshot.xmax = scanner.number<std::uint64_t>();
    scanner.expect(':');
    while (!scanner.at_end()) {
        if (!snapshot.xip.empty())
            scanner.expect(',');
        const auto xid = scanner.number<std::uint64_t>();
        if (xid < snapshot.xmin || xid >= snapshot.xmax || (!snapshot.xip.empty() && xid <= snapshot.xip.back()))
            scanner.fail();
        snapshot.xip.push_back(xid);
    }
    if (snapshot.xmin == 0 || snapshot.xmin > snapshot.xmax)
        scanner.fail();
    return snapshot;
}

std::string Snapshot::text() const
{
    std::string text = std::to_string(xmin) + ':' + std::to_string(xmax) + ':';
    for (std::size_t i = 0; i < xip.size(); i++) {
        if (i > 0)
            text += ',';
        text += std::to_string(xip[i]);
    }
    return text;
}

bool Snapshot::sees(std::uint64_t xid) const
{
    return xid < xmin || (xid < xmax && !std::binary_search(xip.begin(), xip.end(), xid));
}

void Snapshot::hide(std::uint64_t xid)
{
    if (!sees(xid))
        return;
    xip.insert(std::lower_bound(xip.begin(), xip.end(), xid), xid);
    xmin = std::min(xmin, xid);
}

IdRanges IdRanges::parse(std::string_view text)
{
    Scanner scanner(text, "range of ids");
    IdRanges result;
    scanner.expect('{');
    while (!scanner.accept('}')) {
        if (!result.empty())
            scanner.expect(',');
        scanner.expect('[');
        const auto first = scanner.number<std::int64_t>();
        scanner.expect(',');
        const auto end = scanner.number<std::int64_t>();
        scanner.expect(')');
        if (first >= end || (!result.empty() && first <= result.ranges_.back().last.value))
            scanner.fail();
        result.append({first}, {end - 1});
    }
    if (!scanner.at_end())
        scanner.fail();
    return result;
}

std::string IdRanges::text() const
{
    std::string text = "{";
    for (const Range &range : ranges_) {
        if (text.size() > 1)
            text += ',';
        text += '[' + std::to_string(range.first.value) + ',' + std::to_string(range.last.value + 1) + ')';
    }
    return text + '}';
}

void IdRanges::append(EventId first, EventId last)
{
    if (!ranges_.empty() && first.value == ranges_.back().last.value + 1)
        ranges_.back().last = last;
    else
        ranges_.push_back({first, last});
}

void IdRanges::drop_through(EventId id)
{
    const auto keep =
        std::find_if(ranges_.begin(), ranges_.end(), [id](const Range &range) { return range.last > id; });
    ranges_.erase(ranges_.begin(), keep);
    if (!ranges_.empty() && ranges_.front().first <= id)
        ranges_.front().first = {id.value + 1};
}

bool IdRanges::contains(EventId id) const
{
    const auto range = std::partition_point(ranges_.begin(), ranges_.end(),
                                            [id](const Range &candidate) { return candidate.last < id; });
    return range != ranges_.end() && range->first <= id;
}

} // namespace outbox::log
