#include "context/kept_file.json.h"

namespace polypath::context {

void check_schema(const JsonField& root, const char* schema) {
  if (root.at("schema").text(kLongestKeptName) != schema)
    root.at("schema").reject("is another schema", std::string("this is ") + schema);
}

PlaceId place_named(const Machine& machine, const JsonField& name) {
  for (std::size_t number = 0; number < machine.places.size(); ++number)
    if (machine.places[number].name == name.text(kLongestKeptName))
      return PlaceId{static_cast<int>(number)};
  name.reject("is no place", "the machine has no place of that name");
}

}  // namespace polypath::context
