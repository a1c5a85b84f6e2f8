#include "sim/gate/event_words.h"

#include <fmt/format.h>

#include "sim/core/stall_report.h"

namespace pinfold::sim {
namespace {

constexpr std::size_t kWholeList = 12;
constexpr std::size_t kFront = 6;
constexpr std::size_t kBack = 3;

std::string plural(std::uint64_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string_view end_word(std::uint16_t detail) {
  switch (static_cast<EndReason>(detail)) {
    case EndReason::kStop: return "at its stop";
    case EndReason::kLimit: return "at its limit";
    case EndReason::kAborted: return "aborted";
    case EndReason::kNever: return "refused for good";
  }
  return "for an unknown reason";
}

std::string answer_words(const Record& record) {
  const std::string asked =
      fmt::format("{} and {}", plural(record.count, "block"), plural(record.aux, "state slot"));
  switch (static_cast<Answer>(record.detail & 0xFFU)) {
    case Answer::kOk: return "is answered OK for " + asked;
    case Answer::kNever: return "is answered NEVER";
    case Answer::kLater: break;
  }
  return fmt::format("is answered LATER for {}: it waits for {}", asked,
                     word_of(static_cast<Cause>(record.detail >> 8U)));
}

std::string result_words(const Record& record) {
  if (record.aux == 0) return fmt::format("the result of step {} is in", record.sequence);
  return fmt::format("step {} {}", record.sequence,
                     record.aux == 1 ? "failed" : "was behind a failed one and does not count");
}

}  // namespace

bool names_sequence(Verb verb) {
  return verb != Verb::kStep && verb != Verb::kResult && verb != Verb::kPassed &&
         verb != Verb::kStored;
}

std::string ids_text(std::span<const BlockId> ids) {
  if (ids.empty()) return "none";
  std::string text;
  const bool whole = ids.size() <= kWholeList;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!whole && i == kFront) {
      text += ", ...";
      i = ids.size() - kBack;
    }
    text += fmt::format("{}{}", i == 0 ? "" : ", ", index_of(ids[i]));
  }
  return whole ? text : fmt::format("{} ({})", text, ids.size());
}

std::string words_of(const Record& record, std::span<const BlockId> ids) {
  const std::string who = fmt::format("sequence {}", record.sequence);
  const std::string what =
      fmt::format("{}{} {}", name_of(record.pool), ids.size() == 1 ? "" : "s", ids_text(ids));
  switch (record.verb) {
    case Verb::kArrive:
      return fmt::format("{} arrives with {}, limit {}", who, plural(record.count, "prompt token"),
                         record.aux);
    case Verb::kAnswer: return who + " " + answer_words(record);
    case Verb::kAcquire: return who + " takes " + what;
    case Verb::kPin: return who + " pins " + what;
    case Verb::kRelease: return who + " releases " + what;
    case Verb::kPark:
      return fmt::format("{} lets go of {}, which stay until the device has passed ticket {}", who,
                         what, record.aux);
    case Verb::kUnpark: return fmt::format("ticket {} has passed and drops {}", record.aux, what);
    case Verb::kCopyQueued:
      if (ids.size() < 2 || ids[1] == kNoBlock) return who + " queues the release of " + what;
      return fmt::format("{} queues a copy of {} {} into {}", who, name_of(record.pool),
                         index_of(ids[0]), index_of(ids[1]));
    case Verb::kFork:
      return fmt::format("{} is forked off sequence {}, sharing {}", who, record.aux,
                         plural(record.count, "row"));
    case Verb::kForkMissed:
      return fmt::format("{} can no longer fork off sequence {} and becomes an ordinary request",
                         who, record.aux);
    case Verb::kJoin:
      return fmt::format("{} joins the batch with {}, {} computed", who,
                         plural(record.count, "known token"), record.aux);
    case Verb::kLeave: return who + " leaves the batch";
    case Verb::kDrafts: return fmt::format("{} verifies {}", who, plural(record.count, "draft"));
    case Verb::kChunk:
      return fmt::format("{} computes {} of its prompt from position {}", who,
                         plural(record.count, "row"), record.aux);
    case Verb::kStep:
      return fmt::format("step {} is dispatched with {}, {} of prompts", record.sequence,
                         plural(record.count, "row"), record.aux);
    case Verb::kResult: return result_words(record);
    case Verb::kCommit:
      return fmt::format("{} is given {}{}", who, plural(record.count, "token"),
                         record.aux == 1 ? " and stops" : "");
    case Verb::kSitOut:
      return fmt::format("{} sits out for want of {}", who, plural(record.aux, "block"));
    case Verb::kPreempt:
      return fmt::format("{} is preempted with {}, {} in flight", who,
                         plural(record.count, "known token"), plural(record.aux, "row"));
    case Verb::kDemote: return who + " gives up its fork and queues with its whole prompt";
    case Verb::kEnd:
      return fmt::format("{} ends {} after {}", who, end_word(record.detail),
                         plural(record.count, "token"));
    case Verb::kKeys:
      return fmt::format("{} brings {} of its blocks' content", who,
                         plural(record.count / 2, "key"));
    case Verb::kHit:
      return fmt::format("{} finds {}, {} need not be computed", who, what,
                         plural(record.aux, "row"));
    case Verb::kPublish: return fmt::format("{} publishes {}", who, what);
    case Verb::kEvict: return fmt::format("{} for {}: their content is dropped", what, who);
    case Verb::kSave:
      return fmt::format("{} saves {} to the host behind ticket {} (device, host, ...)", who, what,
                         record.aux);
    case Verb::kLoad:
      return fmt::format("{} loads {} from the host behind ticket {} (host, device, ...)", who,
                         what, record.aux);
    case Verb::kStored: return fmt::format("{} can be found on the host", what);
    case Verb::kLoaded:
      return fmt::format("{} has its loads and goes on behind {}", who,
                         plural(record.count, "row"));
    case Verb::kPassed:
      if (record.detail == 1) {
        return fmt::format("lane {} gives up what waits for ticket {}",
                           name_of(static_cast<Lane>(record.count)), record.aux);
      }
      return fmt::format("lane {} has passed ticket {}", name_of(static_cast<Lane>(record.count)),
                         record.aux);
  }
  return "an unknown event";
}

}  // namespace pinfold::sim
