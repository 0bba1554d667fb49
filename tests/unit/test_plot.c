/* plot, palette: pictures made of text hold what they were given, fit the
 * width, and need no colour. */
#include "check.h"

#include "view/celltext.h"
#include "view/plot.h"
#include "view/rooflineplot.h"

static struct nl_buf text;

static const struct nl_plot_style plain = {.width = 40, .height = 4};
static const struct nl_plot_style ascii = {.width = 40, .height = 4, .ascii = true};
static const struct nl_plot_style colored = {.width = 40, .height = 4, .color = true};

static void begin(void)
{
    nl_buf_init(&text, 1 << 20);
}

static void end(void)
{
    nl_buf_release(&text);
}

/* The widest line in screen columns, and how many there are. */
static size_t widest(size_t *lines)
{
    size_t most = 0, at = 0;
    *lines = 0;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\n') {
            size_t wide = nl_celltext_width((struct nl_str){text.ptr + at, i - at});
            most = wide > most ? wide : most;
            at = i + 1;
            ++*lines;
        }
    return most;
}

static bool is_ascii(void)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= 0x80)
            return false;
    return true;
}

static void bar_is_exact_to_an_eighth(void)
{
    static const struct {
        double share;
        const char *unicode, *ascii;
    } cases[] = {
        {0, "", ""},         {1, "████", "####"}, {0.5, "██", "##"},  {0.53125, "██▏", "##"},
        {2, "████", "####"}, {-1, "", ""},        {0.0001, "▏", "#"}, {NAN, "", ""},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].unicode);
        begin();
        nl_plot_bar(&text, cases[i].share, 4, NL_INK_NONE, false, &plain);
        CHECK_STR(((struct nl_str){text.ptr ? text.ptr : "", text.len}), cases[i].unicode);
        nl_buf_clear(&text);
        nl_plot_bar(&text, cases[i].share, 4, NL_INK_NONE, true, &ascii);
        CHECK_INT(text.len, 4);
        CHECK(!strncmp(text.ptr, cases[i].ascii, strlen(cases[i].ascii)));
        end();
    }
}

static void stack_fills_its_width(void)
{
    static const struct nl_plot_part parts[] = {
        {"a", 50, NL_INK_compute}, {"b", 0.01, NL_INK_comm}, {"c", 25, NL_INK_copy},
        {"d", 24.99, NL_INK_idle}, {"e", 0, NL_INK_memset},  {"f", NAN, NL_INK_bad}};
    begin();
    nl_plot_stack(&text, parts, CHECK_LENGTH(parts), 20, &ascii);
    CHECK_STR(((struct nl_str){text.ptr, text.len}), "KKKKKKKKKNCCCCC.....");
    nl_buf_clear(&text);
    nl_plot_stack(&text, parts + 4, 2, 20, &ascii); /* nothing to divide */
    CHECK_STR(((struct nl_str){text.ptr, text.len}), "                    ");
    nl_buf_clear(&text);
    nl_plot_stack(&text, parts, CHECK_LENGTH(parts), 0, &ascii);
    CHECK_INT(text.len, 0);
    nl_plot_stack(&text, parts, 1, 2, &colored);
    CHECK_STR(((struct nl_str){text.ptr, text.len}), "\033[38;5;33m██\033[39m");
    nl_buf_clear(&text);
    nl_plot_stack(&text, parts, CHECK_LENGTH(parts), 20, &(struct nl_plot_style){.shades = true});
    CHECK_STR(((struct nl_str){text.ptr, text.len}), "█████████▒▓▓▓▓▓·····");
    nl_buf_clear(&text);
    nl_plot_stack(&text, parts, CHECK_LENGTH(parts), 20,
                  &(struct nl_plot_style){.shades = true, .ascii = true});
    CHECK_STR(((struct nl_str){text.ptr, text.len}), "KKKKKKKKKNCCCCC.....");
    end();
}

static void heights_go_from_least_to_most(void)
{
    CHECK_STR(nl_str(nl_plot_height(0, false)), "▁");
    CHECK_STR(nl_str(nl_plot_height(-1, false)), "▁");
    CHECK_STR(nl_str(nl_plot_height(0.5, false)), "▅");
    CHECK_STR(nl_str(nl_plot_height(2, false)), "█");
    CHECK_STR(nl_str(nl_plot_height(1, true)), "#");
}

static void bars_have_names_numbers_and_shares(void)
{
    static const struct nl_plot_part parts[] = {{"kernels \033[31mred", 3000000, NL_INK_compute},
                                                {"copies", 1000000, NL_INK_copy}};
    size_t lines;
    begin();
    nl_plot_bars(&text, parts, 2, NL_MEANS_NS, &plain);
    CHECK(strstr(text.ptr, "3.000 ms") != NULL);
    CHECK(strstr(text.ptr, "75.0 %") != NULL);
    CHECK(!strchr(text.ptr, '\033'));
    CHECK(widest(&lines) <= 40);
    CHECK_INT(lines, 2);
    end();
}

static void waterfall_ends_at_the_sum(void)
{
    static const struct nl_plot_part parts[] = {
        {"more", 50, NL_INK_bad}, {"less", -100, NL_INK_good}, {"same", 0, NL_INK_NONE}};
    size_t lines;
    begin();
    nl_plot_waterfall(&text, "before", 100, parts, 3, "after", NL_MEANS_COUNT,
                      &(struct nl_plot_style){.width = 35, .ascii = true});
    CHECK_STR(((struct nl_str){text.ptr, text.len}), /* 16 cells for 150 */
              "before        100  ###########\n"
              "more           50             #####\n"
              "less         -100       ###########\n"
              "same            0       |\n"
              "after          50  #####\n");
    CHECK(widest(&lines) <= 35);
    end();
}

static void lines_go_through_their_points(void)
{
    double y[] = {0, 1, 2, 3};
    struct nl_plot_series series = {"up", NULL, y, 4, NL_INK_compute};
    size_t lines;
    begin();
    nl_plot_lines(&text, &series, 1, &(struct nl_plot_axis){.label = "step"},
                  &(struct nl_plot_axis){0},
                  &(struct nl_plot_style){.width = 15, .height = 4, .ascii = true});
    CHECK_STR(((struct nl_str){text.ptr, text.len}), "  3 |        **\n"
                                                     "    |     ***  \n"
                                                     "    |  ***     \n"
                                                     "  0 |**        \n"
                                                     "     0  step  3\n"
                                                     "  * up\n");
    (void)widest(&lines);
    end();
}

static void points_and_gaps(void)
{
    double x[] = {1, 10, 100, 1000}, y[] = {1, NAN, 0, 1000};
    struct nl_plot_series series = {NULL, x, y, 4, NL_INK_compute};
    struct nl_plot_axis axis = {.log = true};
    size_t lines, dots = 0;
    begin();
    nl_plot_lines(&text, &series, 1, &axis, &axis, &ascii);
    for (size_t i = 0; i < text.len; i++)
        dots += text.ptr[i] == '*';
    CHECK_INT(dots, 2); /* unknown, and zero on a logarithmic axis, are no points */
    CHECK(widest(&lines) <= 40);
    CHECK_INT(lines, 5);
    end();
}

/* A cell of the drawing: `line` from the top. */
static char cell_at(size_t line, size_t column)
{
    size_t start = 0;
    for (; line; line--)
        while (text.ptr[start++] != '\n')
            ;
    return text.ptr[start + column];
}

/* Axes go four times beyond points, ridge and peak: 2.5 … 400 across (ridge 10, points 10
 * and 100), 2.5 … 400 upwards. The ridge lies at (10, 100), the point at half of its roof
 * a factor of two below it. */
static void roofline_by_hand(void)
{
    double x[] = {10, 100, NAN, 10}, y[] = {50, 10, 3, 50};
    struct nl_roofline_roof roof = {"of the test", 100, 10};
    struct nl_roofline_points points = {x, y, "12.3", 4};
    size_t lines, roofs = 0, first = 0, second = 0, hidden = 0;
    begin();
    nl_rooflineplot(&text, &roof, 1, &points,
                    &(struct nl_plot_style){.width = 80, .height = 9, .ascii = true});
    for (size_t line = 1; line <= 9; line++)
        for (size_t column = 0; column < 75; column++) {
            char cell = cell_at(line, column);
            roofs += cell == '*';
            first += cell == '1' && column > 20;
            second += cell == '2' && column > 20;
            hidden += cell == '3' && column > 20;
        }
    CHECK(roofs > 20);
    CHECK_INT(first, 1);
    CHECK_INT(second, 1);
    CHECK_INT(hidden, 0); /* where another stands */
    struct nl_str whole = {text.ptr, text.len};
    CHECK(nl_str_find_nocase(whole, "ridge at 10\n") > 0);
    CHECK(widest(&lines) <= 80);
    CHECK_INT(lines, 1 + 9 + 1 + 1);
    end();
    begin();
    nl_rooflineplot(&text, &roof, 0, &points, &ascii);
    CHECK_INT(text.len, 0);
    end();
}

static void every_plot_fits_every_width(void)
{
    double values[600];
    char marks[601];
    memset(marks, '.', 600);
    const char *labels[] = {"rank 0",
                            "a rank with a very long name indeed, longer than there is room", NULL};
    for (size_t i = 0; i < 600; i++)
        values[i] = i % 7 ? 1e9 * (double)((i * 37) % 101) : NAN;
    struct nl_plot_series series = {"steps", NULL, values, 600, NL_INK_compute};
    struct nl_plot_part parts[] = {{labels[1], 12345678, NL_INK_compute},
                                   {"µs", 99999, NL_INK_comm}};
    for (unsigned width = 30; width <= 200; width += 17)
        for (unsigned kind = 0; kind < 2; kind++) {
            struct nl_plot_style style = {.width = width, .ascii = kind};
            size_t lines;
            begin();
            nl_plot_lines(&text, &series, 1, &(struct nl_plot_axis){.label = "step"},
                          &(struct nl_plot_axis){.meaning = NL_MEANS_NS}, &style);
            nl_rooflineplot(&text, &(struct nl_roofline_roof){labels[1], 1e15, 3e12}, 1,
                            &(struct nl_roofline_points){values, values, marks, 600}, &style);
            nl_plot_bars(&text, parts, 2, NL_MEANS_NS, &style);
            nl_plot_waterfall(&text, NULL, 0, parts, 2, "all", NL_MEANS_BYTES, &style);
            CHECK(widest(&lines) <= width);
            CHECK(is_ascii() == (bool)kind);
            end();
        }
}

static void nothing_gives_nothing_bad(void)
{
    double none[] = {NAN, INFINITY, -INFINITY};
    struct nl_plot_series series = {NULL, none, none, 3, NL_INK_NONE};
    begin();
    nl_plot_lines(&text, &series, 1, &(struct nl_plot_axis){0}, &(struct nl_plot_axis){0}, &plain);
    nl_plot_lines(&text, NULL, 0, &(struct nl_plot_axis){0}, &(struct nl_plot_axis){0}, &plain);
    nl_plot_bars(&text, NULL, 0, NL_MEANS_NUMBER, &plain);
    double far[] = {-1e308, 1e308, 0};
    series = (struct nl_plot_series){NULL, NULL, far, 3, NL_INK_NONE};
    nl_plot_lines(&text, &series, 1, &(struct nl_plot_axis){0}, &(struct nl_plot_axis){0}, &plain);
    struct nl_plot_part falls[] = {
        {"a", 1e308, NL_INK_NONE}, {"b", 1e308, NL_INK_NONE}, {"c", -1e308, NL_INK_NONE}};
    nl_plot_waterfall(&text, NULL, 0, falls, 3, "all", NL_MEANS_NS, &plain);
    CHECK(!text.overflow);
    end();
}

static double luminance(const char *hex)
{
    double parts[3];
    for (int i = 0; i < 3; i++) {
        char two[3] = {hex[1 + 2 * i], hex[2 + 2 * i], '\0'};
        double part = (double)strtol(two, NULL, 16) / 255;
        parts[i] = part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4);
    }
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
}

/* WCAG 2.2, 1.4.11: 3:1 against the page for what is drawn; the pages are #ffffff and #14171c. */
static void inks_stand_out(void)
{
    double dark_page = luminance("#14171c");
    for (int i = 1; i < NL_INK_COUNT; i++) {
        check_case(nl_inks[i].name);
        CHECK(1.05 / (luminance(nl_inks[i].light) + 0.05) >= 3);
        CHECK((luminance(nl_inks[i].dark) + 0.05) / (dark_page + 0.05) >= 3);
        for (int j = 1; j < i; j++)
            CHECK(nl_inks[i].mark != nl_inks[j].mark);
    }
    CHECK(nl_ink_of_index(0) != nl_ink_of_index(1));
}

CHECK_MAIN("plot", {"a bar is exact to an eighth", bar_is_exact_to_an_eighth},
           {"a stack fills its width", stack_fills_its_width},
           {"bars have names, numbers and shares", bars_have_names_numbers_and_shares},
           {"a waterfall ends at the sum", waterfall_ends_at_the_sum},
           {"heights go from the least to the most", heights_go_from_least_to_most},
           {"lines go through their points", lines_go_through_their_points},
           {"points and gaps", points_and_gaps}, {"a roofline by hand", roofline_by_hand},
           {"every plot fits every width", every_plot_fits_every_width},
           {"nothing gives nothing bad", nothing_gives_nothing_bad},
           {"inks stand out on both pages", inks_stand_out})
