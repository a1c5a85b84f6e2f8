// Rule O11: result objects are constructed in place and destroyed on release; who keeps one clones it
// first; use after release is detected. Counts are those of a record that counts its own lives.
#include "engine/output_records.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/broken_rule.h"

namespace pinfold {
namespace {

using test::broken_rule;
using test::violation_text;

struct Lives {
  int made = 0;
  int copied = 0;
  int destroyed = 0;
  int alive() const { return made + copied - destroyed; }
};

/// A record that counts its lives and owns memory, so that a missed destruction is a leak as well.
class CountedRecord {
 public:
  CountedRecord(Lives* lives, int value) : lives_(lives), value_(value), text_(40, 'x') {
    ++lives_->made;
  }
  CountedRecord(const CountedRecord& other)
      : lives_(other.lives_), value_(other.value_), text_(other.text_) {
    ++lives_->copied;
  }
  CountedRecord& operator=(const CountedRecord&) = delete;
  ~CountedRecord() { ++lives_->destroyed; }

  int value() const { return value_; }
  void set(int value) { value_ = value; }

 private:
  Lives* lives_;
  int value_;
  std::string text_;
};

using Records = RecordPool<CountedRecord>;

RecordHandle make(Records& records, Lives& lives, int value) {
  const std::optional<RecordHandle> handle = records.make(&lives, value);
  REQUIRE(handle.has_value());
  return handle.value_or(RecordHandle{});
}

Passed passed_upto(std::uint64_t ticket) {
  Passed passed;
  passed.upto[index_of(Lane::kCompute)] = Ticket{ticket};
  return passed;
}

Fence behind(std::uint64_t ticket) { return fence_on(Lane::kCompute, Ticket{ticket}); }

TEST_CASE(
    "output records (O11): a record is constructed once, in place, and destroyed on release") {
  Lives lives;
  Records records(2);
  CHECK(lives.made == 0);  // storage is no object
  const RecordHandle handle = make(records, lives, 7);
  CHECK(lives.made == 1);
  CHECK(lives.copied == 0);
  CHECK(records.at(handle).value() == 7);
  records.at(handle).set(8);
  CHECK(records.at(handle).value() == 8);
  records.release(handle);
  CHECK(lives.destroyed == 1);
  CHECK(lives.alive() == 0);
}

TEST_CASE("output records (O11): storage is issued again after its release, and only then") {
  Lives lives;
  Records records(2);
  const RecordHandle first = make(records, lives, 1);
  const CountedRecord* where = &records.at(first);
  const RecordHandle second = make(records, lives, 2);
  CHECK(&records.at(second) != where);
  CHECK_FALSE(records.make(&lives, 3).has_value());  // full: an answer, not an error
  CHECK(lives.made == 2);
  records.release(first);
  const RecordHandle third = make(records, lives, 3);
  CHECK(&records.at(third) == where);
  CHECK(records.live() == 2);
}

TEST_CASE("output records (O11): reading a record after its release is detected") {
  Lives lives;
  Records records(1);
  const RecordHandle handle = make(records, lives, 1);
  records.release(handle);
  CHECK(broken_rule([&] { records.at(handle); }) == "O11");
  CHECK(violation_text([&] { records.at(handle); }).find("was released") != std::string::npos);
}

TEST_CASE("output records (O11): an old handle does not read the next tenant of its storage") {
  Lives lives;
  Records records(1);
  const RecordHandle old = make(records, lives, 1);
  records.release(old);
  const RecordHandle now = make(records, lives, 2);
  CHECK(now.place == old.place);
  CHECK(broken_rule([&] { records.at(old); }) == "O11");
  CHECK(broken_rule([&] { records.clone(old); }) == "O11");
  CHECK(broken_rule([&] { records.release(old); }) == "O11");
  CHECK(records.at(now).value() == 2);
  CHECK(lives.destroyed == 1);
}

TEST_CASE("output records (O11): a second release is detected and changes nothing") {
  Lives lives;
  Records records(2);
  const RecordHandle handle = make(records, lives, 1);
  records.release(handle);
  CHECK(broken_rule([&] { records.release(handle); }) == "O11");
  CHECK(lives.destroyed == 1);
  CHECK(records.free() == 2);
}

TEST_CASE("output records (O11): handles that no pool gave out are refused") {
  Lives lives;
  Records records(2);
  make(records, lives, 1);
  CHECK(broken_rule([&] { records.at({2, 0}); }) == "O11");  // outside
  CHECK(broken_rule([&] { records.at({1, 0}); }) == "O11");  // never made
  CHECK(broken_rule([&] { records.at({0, 1}); }) == "O11");  // a later generation
}

TEST_CASE("output records (O11): a clone is a separate object and outlives the release") {
  Lives lives;
  Records records(1);
  const RecordHandle handle = make(records, lives, 5);
  {
    CountedRecord kept = records.clone(handle);
    CHECK(lives.copied == 1);
    kept.set(6);
    CHECK(records.at(handle).value() == 5);
    records.release(handle);
    make(records, lives, 9);  // the storage has a new tenant
    CHECK(kept.value() == 6);
    CHECK(lives.alive() == 2);
  }
  CHECK(lives.alive() == 1);
}

TEST_CASE(
    "output records (O9): deferred releases wait for their fence and are readable meanwhile") {
  Lives lives;
  Records records(3);
  const RecordHandle a = make(records, lives, 1);
  const RecordHandle b = make(records, lives, 2);
  const std::array<RecordHandle, 2> both{a, b};
  records.release_after(behind(4), both);
  CHECK(records.releasing() == 2);
  records.sync(passed_upto(3));
  CHECK(lives.destroyed == 0);
  CHECK(records.at(a).value() == 1);  // somebody queued before ticket 4 may still read it
  CHECK(records.clone(b).value() == 2);
  records.sync(passed_upto(4));
  CHECK(lives.alive() == 0);
  CHECK(records.releasing() == 0);
  CHECK(broken_rule([&] { records.at(a); }) == "O11");
}

TEST_CASE("output records (O9): lists behind different fences are released one by one") {
  Lives lives;
  Records records(3);
  const RecordHandle a = make(records, lives, 1);
  const RecordHandle b = make(records, lives, 2);
  records.release_after(behind(8), std::span(&a, 1));
  records.release_after(behind(6), std::span(&b, 1));
  records.sync(passed_upto(6));
  CHECK(records.at(a).value() == 1);
  CHECK(broken_rule([&] { records.at(b); }) == "O11");
  CHECK(records.releasing() == 1);
  CHECK(records.free() == 2);
  // A fence that waits for nothing is released at the next sync, not at the call.
  const RecordHandle c = make(records, lives, 3);
  records.release_after(Fence{}, std::span(&c, 1));
  CHECK(records.at(c).value() == 3);
  records.sync(passed_upto(6));
  CHECK(records.releasing() == 1);
}

TEST_CASE("output records (O11): a record on the release list can not be released again") {
  Lives lives;
  Records records(2);
  const RecordHandle handle = make(records, lives, 1);
  records.release_after(behind(4), std::span(&handle, 1));
  CHECK(broken_rule([&] { records.release(handle); }) == "O11");
  CHECK(broken_rule([&] { records.release_after(behind(5), std::span(&handle, 1)); }) == "O11");
  records.sync(passed_upto(4));
  CHECK(lives.destroyed == 1);
  CHECK(records.free() == 2);
}

TEST_CASE("output records (O11): the same handle twice in one list is detected at the second") {
  Lives lives;
  Records records(2);
  const RecordHandle handle = make(records, lives, 1);
  const std::array<RecordHandle, 2> twice{handle, handle};
  CHECK(broken_rule([&] { records.release_after(behind(4), twice); }) == "O11");
  records.sync(passed_upto(4));
  CHECK(lives.destroyed == 1);
  // A handle before a faulty one stays queued.
  const std::array<RecordHandle, 2> faulty{make(records, lives, 2), handle};
  CHECK(broken_rule([&] { records.release_after(behind(5), faulty); }) == "O11");
  CHECK(records.releasing() == 1);
}

TEST_CASE("output records (O11): a pool that goes destroys the records that are left") {
  Lives lives;
  {
    Records records(3);
    make(records, lives, 1);
    const RecordHandle handle = make(records, lives, 2);
    records.release_after(behind(4), std::span(&handle, 1));
    records.release(make(records, lives, 3));
  }
  CHECK(lives.made == 3);
  CHECK(lives.destroyed == 3);
}

TEST_CASE("output records (O11): a constructor that throws takes no place") {
  struct Refuses {
    explicit Refuses(bool refuse) {
      if (refuse) throw 1;
    }
  };
  RecordPool<Refuses> records(1);
  CHECK_THROWS(static_cast<void>(records.make(true)));
  CHECK(records.free() == 1);
  CHECK(records.make(false).has_value());
}

TEST_CASE("output records (O11): records keep the alignment they ask for") {
  struct alignas(64) Wide {
    char letter;
  };
  RecordPool<Wide> records(3);
  for (char letter : {'a', 'b', 'c'}) {
    const RecordHandle handle = records.make(letter).value_or(RecordHandle{});
    CHECK(reinterpret_cast<std::uintptr_t>(&records.at(handle)) % 64 == 0);
    CHECK(records.at(handle).letter == letter);
  }
}

TEST_CASE("output records (O11): a request output holds its tokens in place, up to its length") {
  OutputRecords records(1);
  const RecordHandle handle =
      records.make(SequenceId{4}, 2u).value_or(RecordHandle{});  // sequence and epoch
  RequestOutput& output = records.at(handle);
  CHECK(output.sequence == SequenceId{4});
  CHECK(output.epoch == 2);
  CHECK(output.tokens().empty());
  CHECK_FALSE(output.reason.has_value());
  for (std::uint32_t token = 0; token < kOutputTokensMax; ++token) output.push(token);
  CHECK(broken_rule([&] { output.push(99); }) == "O11");
  output.reason = EndReason::kLimit;
  const RequestOutput kept = records.clone(handle);
  records.release(handle);
  CHECK(kept.tokens().size() == kOutputTokensMax);
  CHECK(kept.tokens()[15] == 15);
  CHECK(kept.reason == EndReason::kLimit);
}

}  // namespace
}  // namespace pinfold
