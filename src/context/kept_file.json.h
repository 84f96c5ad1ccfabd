#pragma once
// The common reading of the files that are kept beside a calibration: experience
// (experience_file.h), and plans (plan_file.h).

#include "core/json_reader.json.h"
#include "machine/machine.h"

namespace polypath::context {

/// Of a place, a path, a schema or a choice.
inline constexpr std::size_t kLongestKeptName = 256;

/// Demands that a document is of this schema.
void check_schema(const JsonField& root, const char* schema);

/// The machine's place of that name; it has to be there.
PlaceId place_named(const Machine& machine, const JsonField& name);

}  // namespace polypath::context
