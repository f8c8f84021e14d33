#include "log/event_id.hpp"

#include <gtest/gtest.h>

namespace {

using namespace outbox::log;

constexpr EventId sample{1796138516232823}; // 2026-12-01 15:21:56.232823 UTC

TEST(EventIdTest, AUuidGivesBackTheIdItWasMadeFrom)
{
    for (std::int64_t id :
         {std::int64_t{0}, std::int64_t{999}, std::int64_t{1000}, sample.value, (std::int64_t{1} << 53) - 1})
        for (std::uint64_t random : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{0x0123456789abcdef}})
            EXPECT_EQ(id_of(uuid_of({id}, random)), EventId{id});
}

TEST(EventIdTest, TheUuidIsVersion7WithTheVariantOfRfc9562)
{
    for (std::uint64_t random : {std::uint64_t{0}, ~std::uint64_t{0}}) {
        const Uuid uuid = uuid_of(sample, random);
        EXPECT_EQ(uuid[6] >> 4, 7);
        EXPECT_EQ(uuid[8] >> 6, 2);
    }
}

TEST(EventIdTest, TimeStandsInFrontAndRandomBitsBehind)
{
    const Uuid expected = {0x01, 0xa2, 0x32, 0x32, 0xbf, 0x08, 0x73, 0x37,
                           0x81, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    EXPECT_EQ(uuid_of(sample, 0x0123456789abcdef), expected);
}

TEST(EventIdTest, UuidsSortAsTheirIds)
{
    EXPECT_LT(uuid_of({sample.value}, ~std::uint64_t{0}), uuid_of({sample.value + 1}, 0));
    EXPECT_LT(uuid_of({1999}, ~std::uint64_t{0}), uuid_of({2000}, 0));
}

} // namespace
