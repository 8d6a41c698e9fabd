#pragma once

// The facts of kind `dataset`: what a data set is called, how large it is, and its meta-features
// (trainer/data/meta_features.h), by which studies on similar data are found. Real numbers have
// four significant digits.
//
//   {"name":"mnist","path":"/data/mnist","format":"idx","task":"classification","shape":"1x28x28",
//    "samples":70000,"training":54000,"validation":6000,"test":10000,"classes":10,
//    "features":784,"bytes":54880000,"mean":0.1307,"deviation":0.3081,"skew":3.2,"zeros":0.81,
//    "largest_class":0.1124,"entropy":0.9985,"intrinsic_dimension":11.2,
//    "nearest_neighbour":0.91,"nearest_centroid":0.79,"ridge":0.81,
//    "remarks":["3 other files passed over (a.webp, ...)"]}

#include "encodings/study/study_config.h"
#include "knowledge/facts.h"
#include "trainer/data/dataset.h"

namespace detol::inline scheduler {

// Returns the fact of a data set. Takes about a tenth of a second. REQUIRES: data.sample.
Fact dataset_fact(const DataConfig& config, const DatasetInfo& data);

}  // namespace detol::inline scheduler
