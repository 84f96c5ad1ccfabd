#include "bench/request_fields.json.h"

namespace polypath::bench {

JsonComplaint request_complaint() {
  return {"the request", ErrorCode::invalid_argument, "docs/json.md lists the fields."};
}

std::string text_or(const JsonField& request, const char* key, const char* otherwise) {
  const auto field = request.find(key);
  return field ? field->text(kLongestText, 0) : otherwise;
}

std::vector<std::string> names_of(const JsonField& list) {
  std::vector<std::string> names;
  for (const JsonField& name : list.elements(kMostElements))
    names.push_back(name.text(kLongestText));
  return names;
}

std::vector<Bytes> sizes_of(const JsonField& list) {
  std::vector<Bytes> sizes;
  for (const JsonField& size : list.elements(kMostElements)) sizes.push_back({size.count(0)});
  if (sizes.empty()) list.reject("is empty", "it has to list sizes in bytes");
  return sizes;
}

}  // namespace polypath::bench
