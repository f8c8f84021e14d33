#include "relay/ordering_key.hpp"

#include <string_view>

namespace outbox::relay {

namespace {

// FNV-1a, with a byte between the parts that no UTF-8 text contains.
class KeyHash {
  public:
    void add(std::string_view text)
    {
        for (const char c : text)
            add(static_cast<unsigned char>(c));
        add(0xFF);
    }
    std::uint64_t value() const { return value_; }

  private:
    void add(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3ULL; }
    std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

// The low bits of FNV-1a follow the last bytes of the text, and ids are often a multiple of something: the finalizer
// of SplitMix64 lets every bit depend on all others.
std::uint64_t mix(std::uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
}

} // namespace

OrderingKey ordering_key_of(const log::EventView &event)
{
    const auto &key = event.ordering_key ? event.ordering_key : event.entity_id;
    if (!key)
        return std::nullopt;
    KeyHash hash;
    hash.add(event.entity_type.value_or(""));
    hash.add(*key);
    return hash.value();
}

int lane_of_key(std::uint64_t key, int lanes)
{
    return static_cast<int>(mix(key) % static_cast<std::uint64_t>(lanes));
}

int lane_of(const OrderingKey &key, log::EventId id, int lanes)
{
    return lane_of_key(key.value_or(static_cast<std::uint64_t>(id.value)), lanes);
}

} // namespace outbox::relay
