// Parking against a model that keeps every event for ever in one list and searches it: random steps, and after each of
// them everything that Parking says is what the model says. The table, as the changes make it, is compared, too, and a
// restart from the table now and then must go on as if nothing had happened.
//
// The seeds are fixed, but for one that is new in each run and printed; SEED=n in the environment repeats that one.
#include "relay/parking.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>

namespace outbox::relay {
namespace {

using namespace std::chrono_literals;
using log::EventId;

// outbox.parked, as ParkedChanges are written to it.
class Table {
  public:
    void discard(EventId id) { rows_.erase(id); }

    void write(ParkedChanges &changes)
    {
        for (const auto &[id, row] : changes.added())
            EXPECT_TRUE(rows_.try_emplace(id, row).second) << id.value << " was parked twice";
        for (const auto &[id, row] : changes.changed()) {
            ASSERT_TRUE(rows_.contains(id)) << id.value << " was changed and is not there";
            const std::string error = row.error.empty() ? rows_[id].error : row.error;
            rows_[id] = row;
            rows_[id].error = error;
        }
        for (const EventId id : changes.removed())
            EXPECT_EQ(rows_.erase(id), 1U) << id.value << " was removed and is not there";
        changes.clear();
    }
    const std::map<EventId, ParkedRow> &rows() const { return rows_; }

  private:
    std::map<EventId, ParkedRow> rows_;
};

enum class Place { parked, loaded, blocking, dead, delivered };

struct Event {
    EventId id;
    OrderingKey key;
    std::string route;
    Place place = Place::parked;
    Reason reason = Reason::waiting;
    int attempts = 0;
    WallTime since{};
    int arrived = 0; // steps
    int sent = 0;
};

constexpr int max_attempts = 4;
constexpr auto ttl = 300s;

class Walk {
  public:
    Walk(unsigned seed, bool dead_blocks)
        : random_(seed), dead_blocks_(dead_blocks), rules_{.max_parked = 200,
                                                           .max_attempts = max_attempts,
                                                           .unroutable_ttl = ttl,
                                                           .dead_blocks = dead_blocks}
    {
    }

    void step()
    {
        now_ += std::chrono::milliseconds(number(0, 1'500));
        ++step_;
        switch (number(0, 11)) {
        case 0:
        case 1:
        case 2:
            arrive();
            break;
        case 3:
        case 4:
            load();
            break;
        case 5:
            if (number(0, 6) == 0)
                routable_[route(number(0, routes - 1))] ^= true;
            break;
        case 6:
            if (number(0, 9) == 0)
                restart();
            break;
        case 7:
            table_.write(changes_);
            break;
        default:
            answer();
        }
        if (parking_.expire(now_) != expire())
            ADD_FAILURE() << "not the same events have expired";
    }

    // All routes are free, nobody refuses: everything that is not dead must get out, in order.
    void settle_everything()
    {
        for (int i = 0; i < routes; ++i)
            routable_[route(i)] = true;
        accepting_ = true;
        for (int round = 0; round < 1'000 && parked_count() + blocking_count() > 0; ++round) {
            now_ += 10s;
            if (blocking_count() > 0)
                restart();
            load();
            while (!loaded_.empty())
                answer();
            compare();
        }
        EXPECT_EQ(parked_count() + blocking_count(), 0U);
        EXPECT_TRUE(parking_.empty());
    }

    void compare()
    {
        ASSERT_EQ(parking_.size(), parked_count() + blocking_count());
        for (std::uint64_t key = 0; key < keys; ++key)
            ASSERT_EQ(parking_.holds_key(key), unloaded_of(key) > 0) << "key " << key;
        for (const auto &[id, event] : events_) {
            const bool inside = event.place != Place::dead && event.place != Place::delivered;
            ASSERT_EQ(parking_.contains(id), inside) << id.value;
        }
    }

    void compare_table()
    {
        table_.write(changes_);
        std::size_t expected = 0;
        for (const auto &[id, event] : events_) {
            if (event.place == Place::delivered) {
                ASSERT_FALSE(table_.rows().contains(id));
                continue;
            }
            ++expected;
            ASSERT_TRUE(table_.rows().contains(id));
            const ParkedRow &row = table_.rows().at(id);
            ASSERT_EQ(row.dead, event.place == Place::dead || event.place == Place::blocking);
            ASSERT_EQ(row.blocking, event.place == Place::blocking);
            ASSERT_EQ(row.key, event.key);
            ASSERT_EQ(row.routing_key, event.route);
            ASSERT_EQ(row.attempts, event.attempts);
            ASSERT_EQ(row.reason, event.reason) << id.value;
        }
        ASSERT_EQ(table_.rows().size(), expected);
    }

    std::size_t deliveries() const { return deliveries_; }
    std::size_t deaths() const { return deaths_; }
    std::size_t restarts() const { return restarts_; }

  private:
    static constexpr std::uint64_t keys = 8;
    static constexpr int routes = 4;

    static std::string route(std::int64_t number) { return "route " + std::to_string(number); }

    std::int64_t number(std::int64_t lowest, std::int64_t highest)
    {
        return std::uniform_int_distribution<std::int64_t>(lowest, highest)(random_);
    }

    std::size_t count(Place place) const
    {
        return static_cast<std::size_t>(std::count_if(events_.begin(), events_.end(),
                                                      [&](const auto &each) { return each.second.place == place; }));
    }
    std::size_t parked_count() const { return count(Place::parked) + count(Place::loaded); }
    std::size_t blocking_count() const { return count(Place::blocking); }

    std::size_t unloaded_of(std::uint64_t key) const
    {
        return static_cast<std::size_t>(std::count_if(events_.begin(), events_.end(), [&](const auto &each) {
            return each.second.key == key &&
                   (each.second.place == Place::parked || each.second.place == Place::blocking);
        }));
    }

    static Parking::Event view(const Event &event) { return {event.id, event.key, event.route}; }

    void set_reason(Event &event, Reason reason)
    {
        if (event.reason != reason || event.since == WallTime{})
            event.since = now_;
        event.reason = reason;
    }

    // A new event of the log: it is sent, or put behind others, as a session would do.
    void arrive()
    {
        if (parking_.full())
            return;
        // One in five is lower than those before it: its transaction committed late.
        EventId id{number(0, 4) == 0 ? last_id_ - number(1, 900) : last_id_ + number(1, 20)};
        if (events_.contains(id))
            return;
        last_id_ = std::max(last_id_, id.value);
        Event event{.id = id, .key = std::nullopt, .route = route(number(0, routes - 1))};
        if (number(0, 4) != 0)
            event.key = static_cast<std::uint64_t>(number(0, keys - 1));
        event.arrived = event.sent = step_;
        if (event.key && has_loaded(*event.key) && !parking_.holds_key(event.key))
            return; // it would wait as a claim
        Event &kept = events_[id] = event;
        if (parking_.holds_key(event.key) || parking_.holds_route(id, event.route)) {
            set_reason(kept, held(event.route) ? Reason::unroutable : Reason::waiting);
            parking_.put_behind(view(kept), now_);
            take_reasons();
            return;
        }
        outcome(kept);
    }

    bool has_loaded(std::uint64_t key) const
    {
        return std::any_of(loaded_.begin(), loaded_.end(), [&](EventId id) { return events_.at(id).key == key; });
    }

    // As Parking itself says: what it holds is what it was told is unroutable, which outcome() checks.
    bool held(const std::string &name) const
    {
        const auto names = parking_.held_routes(routes);
        return std::find(names.begin(), names.end(), name) != names.end();
    }

    void load()
    {
        table_.write(changes_); // as a session does: what is loaded is in the table
        for (const EventId id : parking_.due(static_cast<std::size_t>(number(1, 10)), now_)) {
            Event &event = events_.at(id);
            ASSERT_EQ(event.place, Place::parked) << "loaded twice, or not parked";
            // None of its key that is before it is left behind.
            for (const auto &[other_id, other] : events_)
                ASSERT_FALSE(event.key && other.key == event.key && other_id < id &&
                             (other.place == Place::parked || other.place == Place::blocking))
                    << id.value << " was loaded before " << other_id.value;
            if (event.reason == Reason::refused) {
                ASSERT_LE(table_.rows().at(id).next_attempt.value(), now_) << "too early";
            }
            event.place = Place::loaded;
            event.sent = step_;
            loaded_.push_back(id);
        }
        take_reasons();
    }

    // A head whose turn comes while its route is held becomes unroutable: the changes say so.
    void take_reasons()
    {
        for (const auto &[id, row] : changes_.changed())
            if (Event &event = events_.at(id); event.reason != row.reason) {
                EXPECT_EQ(row.reason, Reason::unroutable);
                EXPECT_TRUE(held(event.route)) << "or so it was when it was decided";
                event.reason = row.reason;
                event.since = row.since;
            }
    }

    // The broker answers the first of the loaded ones of some key: strict order sends no other.
    void answer()
    {
        if (loaded_.empty())
            return;
        const EventId any = loaded_[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(loaded_.size()) - 1))];
        EventId first = any;
        for (const EventId id : loaded_)
            if (events_.at(any).key && events_.at(id).key == events_.at(any).key)
                first = std::min(first, id);
        Event &event = events_.at(first);
        forget_loaded(first);
        if (parking_.holds_route(first, event.route)) {
            event.place = Place::parked;
            parking_.put_behind(view(event), now_);
            set_reason(event, Reason::unroutable);
            set_aside(event);
            return;
        }
        outcome(event);
    }

    void forget_loaded(EventId id) { loaded_.erase(std::find(loaded_.begin(), loaded_.end(), id)); }

    void outcome(Event &event)
    {
        if (!routable_[event.route]) {
            event.place = Place::parked;
            set_reason(event, Reason::unroutable);
            const bool old = now_ - event.since >= ttl;
            EXPECT_EQ(parking_.returned(view(event), "no queue", now_) == Parking::Fate::dead, old);
            if (old)
                die(event);
            else
                EXPECT_TRUE(held(event.route));
        } else if (!accepting_ && number(0, 2) == 0) {
            event.place = Place::parked;
            set_reason(event, Reason::refused);
            const bool last = ++event.attempts >= max_attempts;
            EXPECT_EQ(parking_.refused(view(event), "nack", now_) == Parking::Fate::dead, last);
            EXPECT_FALSE(held(event.route)) << "a queue was there to refuse it";
            if (last)
                die(event);
        } else {
            deliver(event);
            return;
        }
        take_reasons();
        set_aside(event);
    }

    void deliver(Event &event)
    {
        parking_.delivered(view(event), now_);
        EXPECT_FALSE(held(event.route));
        // Strict order: nothing of its key that is before it was there when it was sent.
        for (const auto &[id, other] : events_)
            EXPECT_FALSE(event.key && other.key == event.key && id < event.id && other.arrived < event.sent &&
                         (other.place == Place::parked || other.place == Place::blocking))
                << event.id.value << " overtook " << id.value;
        event.place = Place::delivered;
        ++deliveries_;
        take_reasons();
    }

    void die(Event &event)
    {
        event.place = dead_blocks_ && event.key ? Place::blocking : Place::dead;
        event.since = now_;
        ++deaths_;
    }

    // What of its key is loaded behind it goes back, if it holds the key.
    void set_aside(const Event &event)
    {
        if (!event.key || !parking_.holds_key(event.key))
            return;
        const std::vector<EventId> loaded = loaded_;
        for (const EventId id : loaded)
            if (events_.at(id).key == event.key) {
                forget_loaded(id);
                events_.at(id).place = Place::parked;
                parking_.unload(id, now_);
            }
        take_reasons();
    }

    std::size_t expire()
    {
        std::size_t expired = 0;
        for (auto &[id, event] : events_)
            if (event.place == Place::parked && event.reason == Reason::unroutable && now_ - event.since >= ttl) {
                die(event);
                ++expired;
            }
        take_reasons();
        return expired;
    }

    // A new session, or somebody has discarded dead events: all that was loaded is parked again.
    void restart()
    {
        table_.write(changes_);
        for (auto &[id, event] : events_)
            if (event.place == Place::blocking && number(0, 1) == 0) {
                table_.discard(id);
                event.place = Place::delivered;
            }
        parking_ = Parking(rules_, changes_);
        for (const auto &[id, row] : table_.rows())
            if (!row.dead || row.blocking)
                parking_.restore(row);
        parking_.begin(now_);
        for (const EventId id : loaded_)
            events_.at(id).place = Place::parked;
        loaded_.clear();
        take_reasons();
        ++restarts_;
    }

    std::mt19937 random_;
    bool dead_blocks_;
    ParkingRules rules_;
    ParkedChanges changes_;
    Parking parking_{rules_, changes_};
    Table table_;
    std::map<EventId, Event> events_;
    std::vector<EventId> loaded_;
    std::map<std::string, bool> routable_;
    bool accepting_ = false;
    std::int64_t last_id_ = 1'000;
    WallTime now_{1'000'000s};
    int step_ = 0;
    std::size_t deliveries_ = 0;
    std::size_t deaths_ = 0;
    std::size_t restarts_ = 0;
};

void walk(unsigned seed, bool dead_blocks)
{
    SCOPED_TRACE("SEED=" + std::to_string(seed) + (dead_blocks ? ", the dead block" : ""));
    Walk walk(seed, dead_blocks);
    for (int step = 0; step < 2'000; ++step) {
        walk.step();
        walk.compare();
        if (step % 20 == 0)
            walk.compare_table();
        if (testing::Test::HasFailure())
            FAIL() << "in step " << step;
    }
    EXPECT_GT(walk.deliveries(), 50U);
    EXPECT_GT(walk.deaths(), 10U);
    EXPECT_GT(walk.restarts(), 5U);
    walk.settle_everything();
    walk.compare_table();
}

TEST(ParkingModelTest, WhateverHappensParkingSaysWhatANaiveModelSays)
{
    for (const unsigned seed : {1U, 2U, 3U, 4U})
        for (const bool dead_blocks : {false, true})
            walk(seed, dead_blocks);
}

TEST(ParkingModelTest, TheSameHoldsForASeedThatNobodyChose)
{
    const char *chosen = std::getenv("SEED");
    const unsigned seed = chosen != nullptr ? static_cast<unsigned>(std::stoul(chosen)) : std::random_device{}();
    std::cout << "SEED=" << seed << '\n';
    walk(seed, seed % 2 == 1);
}

} // namespace
} // namespace outbox::relay
