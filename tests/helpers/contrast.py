"""Which texts of a page axe-core has to measure, so that the contrast of all of them is known.

A page of code has thousands of words in a dozen colours, and axe-core takes most of its time for
the contrast of each. So of texts that are drawn alike, it gets one.
"""

from __future__ import annotations

# Alike are texts with the same elements around them, each of the same attributes and colours, and
# both readable: axe-core passes over a single sign, and what is too small to be seen. Alone stays
# what may lie on something else than these elements: in a picture, or beside a placed element; and
# a label, for axe-core passes over that of a field that is off. A field has its text in no node.
_ONE_OF_EACH = """
    const numbers = new Map(), kinds = new Map(), texts = new Map(), within = new Map();
    let alone = 0;
    const apart = ['id', 'href', 'title', 'headers', 'for', 'src', 'alt', 'aria-labelledby'];
    const placed = each => ['absolute', 'fixed'].includes(getComputedStyle(each).position);
    const besidePlaced = each => {
        const around = each.parentElement;
        if (!within.has(around)) within.set(around, [...around.children].filter(placed));
        return within.get(around).some(other => other != each);
    };
    const kind = each => {
        if (each == document.documentElement) return 0;
        if (!kinds.has(each)) {
            const style = getComputedStyle(each);
            const own = [...each.attributes].filter(a => !apart.includes(a.name));
            const said = [
                kind(each.parentElement), each.tagName, ...own.map(a => `${a.name}=${a.value}`),
                ...['color', 'backgroundColor', 'backgroundImage', 'opacity', 'filter', 'fontSize',
                    'fontWeight', 'textShadow', 'position', 'display', 'visibility', 'clipPath',
                    'mixBlendMode'].map(name => style[name]),
                each.closest('svg, label') || besidePlaced(each) ? ++alone : '',
            ].join('|');
            if (!numbers.has(said)) numbers.set(said, numbers.size + 1);
            kinds.set(each, numbers.get(said));
        }
        return kinds.get(each);
    };
    for (const each of document.body.querySelectorAll('*')) {
        const text = [...each.childNodes].filter(n => n.nodeType == 3)
            .map(n => n.textContent.trim()).join(' ').trim();
        if (!text && !each.matches('input, select, textarea')) continue;
        const box = each.getBoundingClientRect();
        const seen = box.width > 1 && box.height > 1 && each.checkVisibility();
        const signs = text.length > 1 ? /[a-z0-9]/i.test(text) : '';
        const key = [kind(each), seen, signs].join('|');
        if (!texts.has(key)) texts.set(key, each);
    }
    const include = [...texts.values()];
"""
# Answer as `axe.run` does: with what axe-core finds, but for the contrast, and with that alone.
_RUN = f"""
    const done = arguments[arguments.length - 1], contrast = 'color-contrast';
    const short = {{resultTypes: ['violations']}};
    const rest = () => axe.run({{...short, rules: {{[contrast]: {{enabled: false}}}}}});
    const colours = () => {{
        {_ONE_OF_EACH}
        if (!include.length) return Promise.resolve({{passes: [], violations: []}});
        const only = {{type: 'rule', values: [contrast]}};
        return axe.run({{include}}, {{...short, runOnly: only}});
    }};
    const answer = found => done(found), fail = error => done({{error: String(error)}});
"""
COLOURS = f"{_RUN} colours().then(answer, fail);"
REST = f"{_RUN} rest().then(answer, fail);"
