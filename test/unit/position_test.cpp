#include "log/position.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace {

using namespace outbox::log;

IdRanges ranges(std::initializer_list<std::pair<std::int64_t, std::int64_t>> all)
{
    IdRanges result;
    for (const auto &[first, last] : all)
        result.append({first}, {last});
    return result;
}

TEST(SnapshotTest, TheTextOfASnapshotGivesItBack)
{
    for (const char *text : {"1:1:", "10:20:", "10:20:10", "10:20:10,14,19", "740:18446744073709551615:741"})
        EXPECT_EQ(Snapshot::parse(text).text(), text);
}

TEST(SnapshotTest, ABrokenTextIsRefusedAndNamed)
{
    for (const char *text : {"", ":", "1", "1:", "1:2", "0:0:", "2:1:", "1:2:3", "5:9:4", "5:9:6,6", "5:9:7,6",
                             "5:9:,6", "5:9:6,", "a:b:", "-1:2:", "1:2: ", " 1:2:", "1:18446744073709551616:"})
        EXPECT_THROW(Snapshot::parse(text), std::invalid_argument) << text;
    try {
        Snapshot::parse("5:9:,6");
    } catch (const std::invalid_argument &error) {
        EXPECT_STREQ(error.what(), "invalid snapshot: \"5:9:,6\"");
    }
}

TEST(SnapshotTest, ItSeesWhatHadEndedWhenItWasTaken)
{
    const Snapshot snapshot = Snapshot::parse("10:20:10,14");
    for (std::uint64_t seen : {3, 9, 11, 13, 15, 19})
        EXPECT_TRUE(snapshot.sees(seen)) << seen;
    for (std::uint64_t unseen : {10, 14, 20, 21, 1000})
        EXPECT_FALSE(snapshot.sees(unseen)) << unseen;
}

TEST(SnapshotTest, TheDefaultSeesNoTransaction)
{
    EXPECT_FALSE(Snapshot{}.sees(3));
}

TEST(IdRangesTest, TheTextOfRangesGivesThemBack)
{
    for (const char *text : {"{}", "{[1,2)}", "{[1,3),[7,8)}", "{[-5,-3),[0,9)}"})
        EXPECT_EQ(IdRanges::parse(text).text(), text);
    EXPECT_EQ(IdRanges::parse("{[1,3),[7,8)}"), ranges({{1, 2}, {7, 7}}));
}

TEST(IdRangesTest, ABrokenTextIsRefused)
{
    for (const char *text : {"", "{", "}", "{[1,2)", "{[1,2)}x", "{[2,2)}", "{[3,2)}", "{[1,3),[2,5)}", "{[5,6),[1,2)}",
                             "{(1,2)}", "{[1,2]}", "{[,2)}", "{[1,)}", "{[1,2),}", "{ [1,2)}", "empty"})
        EXPECT_THROW(IdRanges::parse(text), std::invalid_argument) << text;
}

TEST(IdRangesTest, NeighboursBecomeOneRange)
{
    EXPECT_EQ(ranges({{1, 1}, {2, 2}, {3, 5}, {7, 7}}).text(), "{[1,6),[7,8)}");
}

TEST(IdRangesTest, DroppingTakesOutEverythingUpToAnId)
{
    const IdRanges all = ranges({{1, 3}, {10, 10}, {20, 30}});
    const std::pair<std::int64_t, const char *> cases[] = {
        {0, "{[1,4),[10,11),[20,31)}"},
        {1, "{[2,4),[10,11),[20,31)}"},
        {3, "{[10,11),[20,31)}"},
        {9, "{[10,11),[20,31)}"},
        {10, "{[20,31)}"},
        {25, "{[26,31)}"},
        {30, "{}"},
        {99, "{}"},
    };
    for (const auto &[id, left] : cases) {
        IdRanges some = all;
        some.drop_through({id});
        EXPECT_EQ(some.text(), left) << id;
    }
}

TEST(IdRangesTest, ItContainsItsBoundsAndNothingBetweenRanges)
{
    const IdRanges all = ranges({{1, 3}, {10, 10}});
    for (std::int64_t in : {1, 2, 3, 10})
        EXPECT_TRUE(all.contains({in})) << in;
    for (std::int64_t out : {0, 4, 9, 11})
        EXPECT_FALSE(all.contains({out})) << out;
    EXPECT_FALSE(IdRanges{}.contains({1}));
}

} // namespace
