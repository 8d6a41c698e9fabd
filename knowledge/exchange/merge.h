#pragma once

// Merge: adds the studies of one database to another, as for a search that went on elsewhere.
//
// Two studies are the same if they have the same time of creation, the same configuration, and the
// same name, up to a number behind it ("fashion" and "fashion-2"): that is how a merge names a
// study whose name is taken.
//
//   the base has no such study                 it is added; as NAME-2, ... if another has the name
//   the base's history is a prefix of it       the base's grows; the name stays
//   it is the base's history, or a prefix      nothing changes
//   they agree at first and then differ        it is added as NAME-2, ...
//
// Facts that the base lacks are added (facts.h).
//
// So a repeated merge changes nothing, and one that was killed is completed by the next. The
// folders of artefacts follow: files that are missing are added, checkpoints as hard links where
// the file system has them, others as copies.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace detol::inline knowledge {

enum class MergeResult { kAdded, kExtended, kSame, kOlder };

std::string_view to_text(MergeResult result);  // added, extended, same, older

struct MergedStudy {
  std::string study;  // its name in the other database
  std::string as;     // in the base
  MergeResult result = MergeResult::kSame;
  std::int64_t trials = 0;  // of the other study
  std::int64_t files = 0;   // artefacts that were added
};

// Merges every study of `other` into `base`, which is created if it is not there; `other` is only
// read. Studies before an error stay merged. Errors: kUsage if both are one file, kStudy if there
// is no `other`, kStorage: either cannot be read or written, or a live process runs a study that
// would grow.
Result<std::vector<MergedStudy>> merge(const std::filesystem::path& base,
                                       const std::filesystem::path& other);

}  // namespace detol::inline knowledge
