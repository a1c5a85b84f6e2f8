#include "sim/report/field_text.h"

#include <string_view>

namespace pinfold::sim {

void write_fields(JsonWriter& json, std::span<const ReportField> fields) {
  std::string_view group;
  for (const ReportField& field : fields) {
    const std::string_view name = field.name;
    const std::size_t point = name.find('.');
    const std::string_view own_group =
        point == std::string_view::npos ? std::string_view() : name.substr(0, point);
    if (own_group != group) {
      if (!group.empty()) json.close();
      group = own_group;
      if (!group.empty()) json.key(group).open_object();
    }
    json.key(group.empty() ? name : name.substr(point + 1));
    switch (field.kind) {
      case ReportField::Kind::kNumber: json.number(field.text); break;
      case ReportField::Kind::kText: json.string(field.text); break;
      case ReportField::Kind::kNone: json.null(); break;
    }
  }
  if (!group.empty()) json.close();
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"') quoted += '"';
    quoted += letter;
  }
  return quoted + '"';
}

}  // namespace pinfold::sim
