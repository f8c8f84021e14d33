#include "relay/ordering_key.hpp"

#include "sample_event.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace outbox::relay {
namespace {

log::EventView event_of(const char *entity_type, const char *entity_id)
{
    return {.entity_type = entity_type, .entity_id = entity_id};
}

TEST(OrderingKeyTest, AnEventWithoutEntityIsUnordered)
{
    EXPECT_EQ(ordering_key_of(log::EventView{.event_type = "ping"}), std::nullopt);
    EXPECT_EQ(ordering_key_of(log::EventView{.event_type = "ping", .entity_type = "host"}), std::nullopt);
}

TEST(OrderingKeyTest, TheOrderingKeyTakesTheEntityIdsPlace)
{
    auto by_id = log::sample_event();
    auto by_key = log::sample_event();
    by_id.entity_id = "shared";
    by_key.ordering_key = "shared";
    EXPECT_NE(ordering_key_of(log::sample_event()), ordering_key_of(by_key));
    EXPECT_EQ(ordering_key_of(by_id), ordering_key_of(by_key));
}

TEST(OrderingKeyTest, TheEntityTypeIsPartOfIt)
{
    const std::pair<const char *, const char *> parts[] = {{"ab", "c"}, {"a", "bc"}, {"", "abc"},
                                                           {"abc", ""}, {"a", "b"},  {"b", "a"}};
    for (const auto &one : parts)
        for (const auto &other : parts) {
            const log::EventView a{.entity_type = one.first, .entity_id = one.second};
            const log::EventView b{.entity_type = other.first, .entity_id = other.second};
            EXPECT_EQ(ordering_key_of(a) == ordering_key_of(b), &one == &other);
        }
}

TEST(OrderingKeyTest, NothingElseIsPartOfIt)
{
    auto event = log::sample_event();
    const auto key = ordering_key_of(event);
    event.id = {1};
    event.event_type = "workitem.deleted";
    event.workspace_id = std::nullopt;
    event.payload = "{}";
    EXPECT_EQ(ordering_key_of(event), key);
}

// Positions of lanes and parked events are kept on disk: these values may never change.
TEST(OrderingKeyTest, ItsHashIsTheSameForEver)
{
    EXPECT_EQ(ordering_key_of(event_of("order", "1")), 0x62957e829a738d3cULL);
    EXPECT_EQ(ordering_key_of(event_of("order", "2")), 0x62977e829a741013ULL);
    EXPECT_EQ(ordering_key_of(event_of("", "x")), 0xf7f6341be3188cc7ULL);
    EXPECT_EQ(ordering_key_of(event_of("issue", "größe")), 0x779ea89b723c56c7ULL);
}

TEST(LaneOfTest, TheLaneOfAKeyIsTheSameForEver)
{
    struct Case {
        std::uint64_t key;
        std::array<int, 6> lanes; // of 1, 2, 3, 4, 8, 32
    };
    const Case cases[] = {
        {0x62957e829a738d3cULL, {0, 0, 2, 0, 4, 12}},   {0x62977e829a741013ULL, {0, 0, 2, 2, 2, 2}},
        {0xf7f6341be3188cc7ULL, {0, 0, 1, 2, 6, 22}},   {0x779ea89b723c56c7ULL, {0, 1, 0, 1, 5, 5}},
        {1'767'225'600'000'001ULL, {0, 1, 2, 3, 3, 3}}, {1'767'225'600'001'000ULL, {0, 0, 0, 2, 6, 30}},
    };
    const std::array<int, 6> counts = {1, 2, 3, 4, 8, 32};
    for (const Case &each : cases)
        for (std::size_t i = 0; i < counts.size(); ++i)
            EXPECT_EQ(lane_of_key(each.key, counts[i]), each.lanes[i]) << each.key << " of " << counts[i];
}

TEST(LaneOfTest, AnUnorderedEventGoesByItsId)
{
    EXPECT_EQ(lane_of(std::nullopt, {1'767'225'600'001'000}, 32), 30);
    EXPECT_EQ(lane_of(0x62957e829a738d3cULL, {1'767'225'600'001'000}, 32), 12);
}

TEST(LaneOfTest, LanesGetEqualShares)
{
    for (const int lanes : {2, 3, 4, 8, 32}) {
        std::vector<int> by_key(static_cast<std::size_t>(lanes));
        std::vector<int> by_id(static_cast<std::size_t>(lanes));
        const int events = 3'200;
        for (int i = 0; i < events; ++i) {
            const std::string id = std::to_string(i);
            ++by_key.at(static_cast<std::size_t>(lane_of_key(*ordering_key_of(event_of("order", id.c_str())), lanes)));
            ++by_id.at(static_cast<std::size_t>(lane_of(std::nullopt, {1'767'225'600'000'000 + 64LL * i}, lanes)));
        }
        for (const auto &shares : {by_key, by_id})
            for (const int share : shares)
                EXPECT_NEAR(share, events / lanes, 5 * std::sqrt(events / lanes)) << lanes;
    }
}

} // namespace
} // namespace outbox::relay
