// Hand-made journals, one broken rule each: the finding names reader, position, expected, found, writer
// and the release that allowed it. Blocks have four rows; requests are written out record by record.

#include "sim/check/shadow.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace pinfold::sim {
namespace {

constexpr PoolKind kBlocks = PoolKind::kBlocks;
constexpr PoolKind kStates = PoolKind::kStateSlots;
constexpr PoolKind kDrafts = PoolKind::kDraftSlots;

ShadowOptions small(bool state_slots = false, bool fences_always = true) {
  ShadowOptions options;
  options.block_size = 4;
  options.block_ids = 10;
  options.state_ids = 4;
  options.draft_ids = 4;
  options.state_slots = state_slots;
  options.fences_always = fences_always;
  return options;
}

/// A shadow that is told one record at a time.
class Story {
 public:
  explicit Story(const ShadowOptions& options = small()) : shadow(options) {
    journal_.set_enabled(true);
  }

  Story& say(Verb verb, std::uint32_t sequence, std::uint32_t count = 0, std::uint32_t aux = 0,
             std::uint16_t detail = 0) {
    journal_.append({verb, kBlocks, detail, sequence, count, aux});
    return tell();
  }
  Story& ids(Verb verb, PoolKind pool, std::uint32_t sequence, std::vector<std::uint32_t> list,
             std::uint32_t aux = 0, std::uint16_t detail = 0) {
    std::vector<BlockId> named;
    for (const std::uint32_t id : list) named.push_back(BlockId{id});
    const std::uint32_t count = static_cast<std::uint32_t>(named.size());
    journal_.append({verb, pool, detail, sequence, count, aux}, named);
    return tell();
  }
  Story& acquire(std::uint32_t sequence, std::vector<std::uint32_t> list, PoolKind pool = kBlocks) {
    return ids(Verb::kAcquire, pool, sequence, std::move(list));
  }
  Story& release(std::uint32_t sequence, std::vector<std::uint32_t> list, PoolKind pool = kBlocks) {
    return ids(Verb::kRelease, pool, sequence, std::move(list));
  }
  /// A whole prompt in a step of its own.
  Story& prompt(std::uint32_t sequence, std::uint32_t rows) {
    say(Verb::kChunk, sequence, rows, 0);
    return step().result();
  }
  Story& join(std::uint32_t sequence, std::uint32_t processed) {
    return say(Verb::kJoin, sequence, processed + 1, processed);
  }
  Story& step() { return say(Verb::kStep, ++steps_); }
  Story& result(std::uint32_t how = 0) { return say(Verb::kResult, ++results_, 0, how); }

  std::string first() const {
    if (shadow.findings().empty()) return "clean";
    const ShadowFinding& finding = shadow.findings().front();
    return finding.rule + " at event " + std::to_string(finding.event) + ": " + finding.text;
  }

  Shadow shadow;

 private:
  Story& tell() {
    shadow.consume(journal_.unread());
    journal_.clear();
    return *this;
  }
  Journal journal_;
  std::uint32_t steps_ = 0;
  std::uint32_t results_ = 0;
};

TEST_CASE("a prompt, two tokens and an end are clean, and every row of every read is counted") {
  Story story;
  story.acquire(0, {1, 2}).prompt(0, 6).join(0, 6).step().result().step().result();
  story.release(0, {1, 2}).say(Verb::kEnd, 0, 3);
  CHECK(story.first() == "clean");
  CHECK(story.shadow.rows_read() == 0 + 6 + 7);  // the prompt reads nothing behind it
}

TEST_CASE("O12: a block released under its reader and written by the next tenant") {
  Story late(small(false, false));
  late.acquire(0, {1, 2}).prompt(0, 6);         // 1 to 4
  late.ids(Verb::kPark, kBlocks, 0, {2}, 1);    // 5: the end of the table
  late.ids(Verb::kPin, kBlocks, 0, {2});        // 6: and back, with a hold too many
  late.ids(Verb::kUnpark, kBlocks, 0, {2}, 1);  // 7
  late.ids(Verb::kRelease, kBlocks, 3, {2});    // 8: sequence 3 does not own it
  late.acquire(7, {2}).prompt(7, 2);            // 9 to 12: written by sequence 7
  late.join(0, 6).step().result();              // 13 to 15
  CHECK(late.shadow.findings().front().rule == "O10 release");
  const ShadowFinding& finding = late.shadow.findings().back();
  CHECK(finding.rule == "O12 visible rows");
  CHECK(finding.event == 15);
  CHECK(finding.text ==
        "sequence 0 reads position 4 in step 3, row 0 of block 2: expected position 4 of sequence "
        "0, found position 0 of sequence 7; sequence 3 had released block 2 at event 8, before "
        "that was written");
  CHECK(finding.sequence == 0);
  CHECK(finding.position == 4);
  CHECK(finding.id == 2);
  CHECK(finding.expected == RowTag{RowKind::kData, 0, 0, 4});
  CHECK(finding.found.tag == RowTag{RowKind::kData, 7, 0, 0});
  CHECK(finding.found.before == Release{8, 3});
}

TEST_CASE("O12: every read of every step is a finding until the row is right again") {
  Story story(small(false, false));
  story.acquire(0, {1, 3}).acquire(1, {2, 4}).say(Verb::kChunk, 0, 2, 0).say(Verb::kChunk, 1, 2, 0);
  story.step().result().join(0, 2).join(1, 2).step().result();
  CHECK(story.first() == "clean");
  // A copy that nobody asked for puts sequence 1's rows where sequence 0's were.
  story.ids(Verb::kCopyQueued, kBlocks, 0, {2, 1}, 1).step().result();
  CHECK(story.shadow.finding_count() == 1);
  story.step().result();
  CHECK(story.shadow.finding_count() == 2);
  CHECK(story.first() ==
        "O12 visible rows at event 13: sequence 0 reads position 0 in step 3, row 0 of block 1: "
        "expected position 0 of sequence 0, found position 0 of sequence 1; nobody had released "
        "block 1");
}

TEST_CASE("O12: a fork without its copy reads what the block's last tenant left there") {
  Story story;
  story.acquire(5, {4}).prompt(5, 3).release(5, {4}).say(Verb::kEnd, 5);  // 1 to 6
  story.acquire(0, {1, 2}).prompt(0, 6).join(0, 6);                       // 7 to 11
  story.say(Verb::kFork, 8, 6, 0).ids(Verb::kPin, kBlocks, 8, {1, 2});    // 12, 13
  story.ids(Verb::kPark, kBlocks, 8, {2}, 5).acquire(8, {4});             // 14, 15
  Story copied = story;
  copied.ids(Verb::kCopyQueued, kBlocks, 8, {2, 4}, 4).join(8, 6).step().result();
  CHECK(copied.first() == "clean");
  story.join(8, 6).step().result();  // 16 to 18, and no copy
  CHECK(story.first() ==
        "O12 visible rows at event 18: sequence 8 reads position 4 in step 3, row 0 of block 4: "
        "expected position 4 of sequence 0, found position 0 of sequence 5; sequence 5 had "
        "released block 4 at event 5, after that was written");
}

TEST_CASE("O12: rejected drafts, failed copies and rows of a former life are not data") {
  Story story;
  story.acquire(0, {1, 2}).acquire(0, {1}, kDrafts).prompt(0, 2).join(0, 2);
  story.say(Verb::kDrafts, 0, 2)
      .step()
      .result()
      .say(Verb::kCommit, 0, 1);  // positions 3, 4 rejected
  story.say(Verb::kFork, 1, 5, 0).ids(Verb::kPin, kBlocks, 1, {1, 2}).join(1, 5).step().result();
  CHECK(
      story.shadow.findings().back().text ==
      "sequence 1 reads position 3 in step 3, row 3 of block 1: expected position 3 of sequence 0, "
      "found a row that sequence 0 wrote and that was not accepted; nobody had released block 1");
}

TEST_CASE("O9: storage that a step in flight may touch is released") {
  Story story;
  story.acquire(0, {1}).prompt(0, 2).join(0, 2).step();
  story.release(0, {1});  // event 7
  CHECK(story.first() ==
        "O9 release at event 7: sequence 0 released block 1, and step 2, ticket 4, may still touch "
        "it");
}

TEST_CASE("O9: parked behind a ticket that comes too early") {
  Story story;
  story.acquire(0, {1}).prompt(0, 2).join(0, 2).step();
  story.ids(Verb::kPark, kBlocks, 0, {1}, 3);
  CHECK(story.first() ==
        "O9 release at event 7: sequence 0 parked behind ticket 3 block 1, and step 2, ticket 4, "
        "may still touch it");
}

TEST_CASE("O9: a copy's source is issued again before the copy's fence has passed") {
  Story story;
  story.acquire(0, {1}).prompt(0, 3);
  story.say(Verb::kFork, 1, 3, 0).ids(Verb::kPin, kBlocks, 1, {1});
  story.ids(Verb::kPark, kBlocks, 1, {1}, 3).acquire(1, {2});
  story.ids(Verb::kCopyQueued, kBlocks, 1, {1, 2}, 4).join(1, 3).step();  // 9 to 11
  story.release(0, {1}).say(Verb::kEnd, 0);
  story.ids(Verb::kUnpark, kBlocks, 1, {1}, 0);  // 14: the fence forgotten
  story.acquire(2, {1});
  CHECK(story.first() == "clean");
  story.say(Verb::kPassed, 0, 0, 3);
  CHECK(story.first() ==
        "O9 copy source at event 16: the copy for sequence 1 reads block 1, which was issued again "
        "before the copy was done; sequence 1 had released it at event 14");
}

TEST_CASE("O9: a hold ends before the lane has come to its ticket, or without having begun") {
  Story story;
  story.acquire(0, {1}).prompt(0, 2).join(0, 2).step();
  story.ids(Verb::kPark, kBlocks, 0, {1}, 4).ids(Verb::kUnpark, kBlocks, 0, {1}, 4);
  CHECK(
      story.first() ==
      "O9 release at event 8: a hold of sequence 0 on ticket 4 ended when the lane had come to 2");
  Story twice;
  twice.acquire(0, {1}).ids(Verb::kUnpark, kBlocks, 0, {1}, 0);
  CHECK(twice.first() == "O9 release at event 2: a hold on block 1 ends, and nothing holds it");
}

TEST_CASE("O2, O10: owners and tables") {
  Story issued;
  issued.acquire(0, {1}).acquire(1, {1});
  CHECK(issued.first() ==
        "O2 owners at event 2: block 1 has 1 owners and is issued to sequence 1; nobody had "
        "released it");
  Story pinned;
  pinned.ids(Verb::kPin, kBlocks, 0, {1});
  CHECK(pinned.first().starts_with("O2 owners at event 1: block 1 has 0 owners and is pinned"));
  Story outside;
  outside.acquire(0, {10});
  CHECK(outside.first() ==
        "O2 owners at event 1: block 10, named by sequence 0, is not in the pool");
  Story twice;
  twice.acquire(0, {1, 2}).release(0, {1, 2}).release(0, {1, 2});
  CHECK(twice.first() ==
        "O2 owners at event 3: block 1 is released by sequence 0 and has no owner; sequence 0 had "
        "released it at event 2");
  Story other;
  other.acquire(0, {1, 2}).acquire(1, {3}).release(0, {3});
  CHECK(other.first() ==
        "O10 release at event 3: sequence 0 lets go of 1 blocks that are not the end of its table "
        "of 2");
  Story kept;
  kept.acquire(0, {1, 2}).acquire(0, {3}, kStates).say(Verb::kEnd, 0);
  CHECK(kept.first() ==
        "O10 finish at event 3: sequence 0 ended and still holds 2 blocks, a state slot and no "
        "draft slot");
}

TEST_CASE("state slots: content is a sequence, an epoch and the rows it includes") {
  Story story(small(true));
  story.acquire(0, {1}).acquire(0, {1}, kStates).prompt(0, 2).join(0, 2).step().result();
  // The next tenant starts anew: it does not read what is there.
  story.release(0, {1}, kStates).release(0, {1}).say(Verb::kEnd, 0);  // 9 to 11
  story.acquire(1, {2}).acquire(1, {1}, kStates).prompt(1, 2);
  CHECK(story.first() == "clean");
  Story two = story;
  // Sequence 2 takes over a slot in the middle: its second chunk reads sequence 1's state.
  two.acquire(2, {3}).acquire(2, {2}, kStates).prompt(2, 2);
  two.ids(Verb::kCopyQueued, kStates, 2, {1, 2}).say(Verb::kChunk, 2, 2, 2).step().result();
  CHECK(two.first() ==
        "O12 state slot at event 25: sequence 2 goes on at position 2 in step 5 from state slot 2: "
        "expected position 1 of sequence 2, found position 1 of sequence 1; nobody had released "
        "state slot 2");
  // A clone belongs to the parent's history, and the fork goes on from it.
  story.say(Verb::kFork, 3, 2, 1).ids(Verb::kPin, kBlocks, 3, {2});
  story.ids(Verb::kPark, kBlocks, 3, {2}, 7).acquire(3, {4});
  story.ids(Verb::kCopyQueued, kBlocks, 3, {2, 4}, 4).acquire(3, {3}, kStates);
  Story uncloned = story;
  story.ids(Verb::kCopyQueued, kStates, 3, {1, 3}).join(3, 2).step().result();
  CHECK(story.first() == "clean");
  uncloned.join(3, 2).step().result();
  CHECK(uncloned.shadow.findings().back().text.find(
            "expected position 1 of sequence 1, found nothing that anybody wrote") !=
        std::string::npos);
}

TEST_CASE("draft slots: one owner, and no other before the steps that use it have passed") {
  Story story;
  story.acquire(0, {1, 2}).acquire(0, {1}, kDrafts).prompt(0, 2).join(0, 2);
  story.say(Verb::kDrafts, 0, 2).step();  // 7, 8
  Story early = story;
  early.release(0, {1}, kDrafts);  // 9
  CHECK(early.first() ==
        "O9 release at event 9: sequence 0 released draft slot 1, and step 2, ticket 4, may still "
        "touch it");
  early.acquire(1, {1}, kDrafts);
  CHECK(
      early.shadow.findings().back().text ==
      "draft slot 1 is handed to sequence 1, and step 2 with drafts of sequence 0 has not passed");
  story.ids(Verb::kPark, kDrafts, 0, {1}, 4).result().ids(Verb::kUnpark, kDrafts, 0, {1}, 4);
  story.acquire(1, {1}, kDrafts);
  CHECK(story.first() == "clean");
  Story none;
  none.acquire(0, {1}).prompt(0, 1).join(0, 1).say(Verb::kDrafts, 0, 1).step();
  CHECK(none.first() == "O5 slots at event 7: sequence 0 has drafts in step 2 and no draft slot");
}

TEST_CASE("a failed step's copies are lost") {
  Story story;
  story.acquire(0, {1}).prompt(0, 3).say(Verb::kFork, 1, 3, 0).ids(Verb::kPin, kBlocks, 1, {1});
  story.ids(Verb::kPark, kBlocks, 1, {1}, 3).acquire(1, {2});
  story.ids(Verb::kCopyQueued, kBlocks, 1, {1, 2}, 4).join(1, 3).step().result(1);  // 9 to 12
  CHECK(story.first() == "clean");  // what a failed step reads is nobody's
  story.step().result();
  CHECK(story.first() ==
        "O12 visible rows at event 14: sequence 1 reads position 0 in step 3, row 0 of block 2: "
        "expected position 0 of sequence 0, found what a lost copy for sequence 1 left behind; "
        "nobody had released block 2");
}

TEST_CASE("a copy in a lane of its own is done when that lane passes it, beside an earlier step") {
  for (const Lane lane : {Lane::kCompute, Lane::kCopy}) {
    ShadowOptions options = small(false, false);
    options.copy_lane = lane;
    Story story(options);
    story.acquire(0, {1}).prompt(0, 3);                                // 1 to 4
    story.acquire(7, {2}).say(Verb::kChunk, 7, 4, 0).step();           // 5 to 7, and no result yet
    story.release(7, {2}).say(Verb::kEnd, 7);                          // 8, 9
    story.say(Verb::kFork, 1, 3, 0).ids(Verb::kPin, kBlocks, 1, {1});  // 10, 11
    story.ids(Verb::kPark, kBlocks, 1, {1}, 5).acquire(1, {2});        // 12, 13
    story.ids(Verb::kCopyQueued, kBlocks, 1, {1, 2}, 4).join(1, 3).step();
    story.say(Verb::kPassed, 0, index_of(lane), 5).ids(Verb::kUnpark, kBlocks, 1, {1}, 5, 1);
    story.result().result();  // 19, 20
    if (lane == Lane::kCompute) {
      // In one lane the old tenant's row is written ahead of the copy.
      CHECK(story.first() == "clean");
    } else {
      CHECK(story.first() ==
            "O12 visible rows at event 20: sequence 1 reads position 0 in step 3, row 0 of block "
            "2: expected position 0 of sequence 0, found position 0 of sequence 7; sequence 7 had "
            "released block 2 at event 8, before that was written");
    }
  }
  ShadowOptions options = small();
  options.copy_lane = Lane::kCopy;
  Story early(options);
  early.acquire(0, {1}).prompt(0, 3).ids(Verb::kPark, kBlocks, 0, {1}, 1);
  early.ids(Verb::kUnpark, kBlocks, 0, {1}, 1, 1);
  CHECK(
      early.first() ==
      "O9 release at event 6: a hold of sequence 0 on ticket 1 ended when the lane had come to 0");
}

TEST_CASE("O6, O7, O15: tables, counts and order") {
  Story table;
  table.acquire(0, {1}).say(Verb::kChunk, 0, 5, 0).step();
  CHECK(table.first() ==
        "O6 table at event 3: sequence 0 may write up to position 5 in step 1 with a table of 1 "
        "blocks");
  Story chunk;
  chunk.acquire(0, {1}).prompt(0, 2).say(Verb::kChunk, 0, 1, 3).step().result();
  CHECK(chunk.first() ==
        "O7 commit at event 7: a chunk of sequence 0 starts at 3, and 2 rows are processed");
  Story joined;
  joined.acquire(0, {1}).prompt(0, 2).join(0, 3);
  CHECK(joined.first() ==
        "O7 commit at event 5: sequence 0 joins the batch with 3 rows, and 2 are processed");
  Story order;
  order.acquire(0, {1}).say(Verb::kChunk, 0, 1, 0).step().say(Verb::kResult, 2);
  CHECK(order.first() ==
        "O15 order at event 4: a result of step 2, which is not the oldest in flight");
  Story fence;
  fence.say(Verb::kPassed, 0, 0, 2);
  CHECK(fence.first() ==
        "O9 fence at event 1: lane 0 passed ticket 2, and the last one queued is 0");
}

TEST_CASE("a copy goes its own way, and equal situations have equal hashes") {
  Story one;
  one.acquire(0, {1}).prompt(0, 2).join(0, 2);
  Story two = one;
  CHECK(one.shadow.hash() == two.shadow.hash());
  one.step();
  CHECK(one.shadow.hash() != two.shadow.hash());
  two.step();
  CHECK(one.shadow.hash() == two.shadow.hash());

  // Whoever came and went leaves no trace but step numbers, bytes and events, which do not count.
  Story later;
  later.acquire(9, {2, 1}).prompt(9, 6).release(9, {2, 1}).say(Verb::kEnd, 9);
  later.acquire(0, {1}).prompt(0, 2).join(0, 2).step();
  CHECK(later.shadow.hash() == one.shadow.hash());

  // A result whose commits may still come is as good as one that somebody spoke after.
  one.result();
  two.result().say(Verb::kArrive, 4, 1, 1);
  CHECK(one.shadow.hash() == two.shadow.hash());

  // What the rows hold counts.
  Story other;
  other.acquire(0, {3}).prompt(0, 2).join(0, 2).step().result();
  CHECK(other.shadow.hash() != one.shadow.hash());
}

}  // namespace
}  // namespace pinfold::sim
