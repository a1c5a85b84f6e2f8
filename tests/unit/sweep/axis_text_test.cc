#include "sim/sweep/axis_text.h"

#include <doctest/doctest.h>

namespace pinfold::sim {
namespace {

std::string values(const Outcome<SweepAxis>& axis) {
  if (!axis) return describe(axis.error());
  std::string text = axis.value().name + ":";
  for (const auto& step : axis.value().steps) text += " " + step.at(0).value;
  return text;
}

TEST_CASE("axis text: lists") {
  CHECK(values(parse_list_axis("engine.block_size=16,32")) == "engine.block_size: 16 32");
  CHECK(values(parse_list_axis("engine.release_order=forward,reverse")) ==
        "engine.release_order: forward reverse");
  CHECK(values(parse_list_axis("engine.slot_factor=1.20,1.5")) == "engine.slot_factor: 1.2 1.5");
  CHECK(values(parse_list_axis("model.compression_ratios=[4],[4,128]")) ==
        "model.compression_ratios: [4] [4, 128]");
}

TEST_CASE("axis text: ranges are exact") {
  CHECK(values(parse_range_axis("engine.max_num_seqs=32:512:*2")) ==
        "engine.max_num_seqs: 32 64 128 256 512");
  CHECK(values(parse_range_axis("engine.max_num_seqs=32:500:*2")) ==
        "engine.max_num_seqs: 32 64 128 256");
  CHECK(values(parse_range_axis("engine.slot_factor=1:1.5:+0.1")) ==
        "engine.slot_factor: 1 1.1 1.2 1.3 1.4 1.5");  // with binary floating point 1.5 is missed
  CHECK(values(parse_range_axis("workload.time_scale=0.25:2:*1.5")) ==
        "workload.time_scale: 0.25 0.375 0.5625 0.84375 1.265625 1.8984375");
}

TEST_CASE("axis text: mistakes are explained") {
  struct Case {
    const char* text;
    const char* error;
  };
  const Case lists[] = {{"engine.block_size", "expected KEY=a,b,c"},
                        {"=1,2", "expected KEY=a,b,c"},
                        {"engine.block_size=", "expected KEY=a,b,c"},
                        {"engine.block_size=16,,32", "an empty value"},
                        {"engine.block_size=16,16", "twice"},
                        {"engine.slot_factor=1.2,1.20", "twice"},
                        {"engine.blok_size=16", "did you mean engine.block_size?"},
                        {"engine.block_size=0", "expected an integer from 1"}};
  for (const Case& one : lists) {
    CAPTURE(one.text);
    CHECK(values(parse_list_axis(one.text)).find(one.error) != std::string::npos);
  }
  const Case ranges[] = {{"engine.max_num_seqs=1:2", "expected KEY=LO:HI:*F"},
                         {"engine.max_num_seqs=1:2:2", "expected KEY=LO:HI:*F"},
                         {"engine.max_num_seqs=x:2:*2", "expected KEY=LO:HI:*F"},
                         {"engine.max_num_seqs=4:2:*2", "expected LO up to HI"},
                         {"engine.max_num_seqs=1:2:*1", "expected a step that grows"},
                         {"engine.max_num_seqs=1:2:+0", "expected a step that grows"},
                         {"engine.max_num_seqs=1:90000:+1", "expected at most 10000 values"},
                         {"engine.max_num_seqs=1:9:*1.5", "found 1.5, expected an integer"},
                         {"engine.slot_factor=1:2:*1.0000001", "9 digits behind the point"}};
  for (const Case& one : ranges) {
    CAPTURE(one.text);
    CHECK(values(parse_range_axis(one.text)).find(one.error) != std::string::npos);
  }
}

}  // namespace
}  // namespace pinfold::sim
