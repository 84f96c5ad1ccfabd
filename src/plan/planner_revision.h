#pragma once

namespace polypath::plan {

/// The library's version and a hash of the sources that plans are made by.
const char* planner_revision();

}  // namespace polypath::plan
