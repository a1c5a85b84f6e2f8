#include "sim/trace/qwen_bailian.h"

#include <algorithm>
#include <map>
#include <memory>

namespace pinfold::sim {
namespace {

struct Turn {
  std::uint64_t session;
  std::int64_t arrival_ns;
};

}  // namespace

TableSchema qwen_bailian() {
  auto turns = std::make_shared<std::map<std::int64_t, Turn>>();
  return {
      .format = "qwen",
      .columns = {{"chat_id", Field::kChat, true},
                  {"parent_chat_id", Field::kParentChat, true},
                  {"timestamp", Field::kArrival, true, Clock::kSeconds},
                  {"input_length", Field::kPrompt, true},
                  {"output_length", Field::kOutput, true},
                  {"hash_ids", Field::kPrefixIds, true}},
      .id_block = 16,
      .id_rule = IdRule::kCeil,
      .rule = [turns](TraceRequest& request, const RowExtras& extras) -> std::optional<InputError> {
        const std::int64_t chat = extras.chat.value_or(0);
        request.session = static_cast<std::uint64_t>(chat);
        const auto parent = turns->find(extras.parent_chat.value_or(-1));
        if (parent != turns->end()) {
          request.session = parent->second.session;
          request.delay_ns =
              std::max<std::int64_t>(0, request.arrival_ns - parent->second.arrival_ns);
        }
        (*turns)[chat] = {request.session, request.arrival_ns};
        return std::nullopt;
      }};
}

}  // namespace pinfold::sim
