#include "trainer/data/formats/picture_survey.h"

#include <gtest/gtest.h>

namespace detol {
namespace {

TEST(PictureSummary, NamesTheMostFrequentKindFirst) {
  const PictureSurvey survey{.kinds = {{"colour JPEG", 3}, {"grey PNG", 20}}};
  EXPECT_EQ(kinds_in(survey), "20 grey PNG, 3 colour JPEG");
}

TEST(PictureSummary, GivesRangesOnlyWhereSizesDiffer) {
  PictureSurvey survey{.least_height = 8, .most_height = 8, .least_width = 8, .most_width = 60};
  EXPECT_EQ(sizes_in(survey), "8 x 8 to 60 pixels");
  EXPECT_TRUE(survey.differ_in_size());
  survey.most_width = 8;
  EXPECT_EQ(sizes_in(survey), "8 x 8 pixels");
  EXPECT_FALSE(survey.differ_in_size());
}

TEST(PictureSummary, CountsTheFilesOfAllSplits) {
  const PictureSurvey survey{.classes = {{"cat", 10, 2, 3}, {"dog", 7, 0, 0}}};
  EXPECT_EQ(classes_in(survey), "cat 15, dog 7");
}

TEST(PictureSummary, NotesWhatIsUnusualAlone) {
  EXPECT_EQ(notes_on(PictureSurvey{}), "");
  const PictureSurvey survey{.turned = 3,
                             .with_alpha = 2,
                             .unreadable = {"a/b.jpg: no"},
                             .passed_over = {"a/1.txt", "a/2.webp", "b/3.txt", "b/4.txt"}};
  EXPECT_EQ(notes_on(survey),
            "3 rotated by EXIF, 2 with transparency, 1 cannot be read, 4 other files passed over "
            "(1.txt, 2.webp, 3.txt, ...)");
}

}  // namespace
}  // namespace detol
