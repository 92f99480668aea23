extension ReportPage {
    /// The style sheet of a report, with no font and no image from elsewhere.
    ///
    /// Colours are chosen in pairs for the light and the dark scheme. Each text has a contrast of
    /// at least 4.5 to 1 to its background. No meaning depends on colour alone.
    static let style: StaticString = """

        :root{color-scheme:light dark;--paper:#fcfbf8;--raised:#f4f1ea;--ink:#1d1b18;--faint:#67625a;
        --line:#dfd9ce;--bar:#2f6690;--track:#e8e3d9;--good:#24653a;--warn:#855400;--bad:#a32a1e}
        @media (prefers-color-scheme:dark){:root{--paper:#141518;--raised:#1c1e22;--ink:#e9e6e0;
        --faint:#a19c93;--line:#32343a;--bar:#74a9d6;--track:#2a2d33;--good:#7fc796;--warn:#e3b35f;
        --bad:#f2958a}}
        *{box-sizing:border-box}
        html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
        body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,-apple-system,
        "Segoe UI",Roboto,"Noto Sans",sans-serif;font-variant-numeric:tabular-nums;
        overflow-wrap:anywhere}
        main,header,footer,nav ul{max-width:68rem;margin:0 auto;padding:0 1.25rem}
        header{padding-top:3rem}
        h1{font-size:2.25rem;line-height:1.15;letter-spacing:-.02em;font-weight:650;margin:.15rem 0 .25rem}
        h2{font-size:1.25rem;line-height:1.3;letter-spacing:-.01em;font-weight:650;margin:0 0 .75rem}
        h3{font-size:1rem;line-height:1.4;font-weight:600;margin:1.5rem 0 .25rem}
        p{margin:.25rem 0 .75rem;max-width:46rem}
        code,.path{font-family:ui-monospace,SFMono-Regular,"Cascadia Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;
        font-size:.875em}
        .over{margin:0;font-size:.8125rem;color:var(--faint)}
        .faint,figcaption,caption{color:var(--faint)}
        .small,figcaption,caption,.notes{font-size:.8125rem}
        .verdict{font-size:1.125rem;margin:1.25rem 0 0;display:flex;gap:.6rem;align-items:baseline}
        .verdict p{margin:0}
        .mark{font-weight:700;flex:none}
        .good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}
        .figures{display:grid;grid-template-columns:repeat(4,1fr);margin:2rem 0 0;
        border-top:1px solid var(--line);border-bottom:1px solid var(--line)}
        .figures div{padding:.9rem 1rem;border-left:1px solid var(--line);min-width:0}
        .figures div:first-child{padding-left:0;border-left:0}
        .figures dt,.facts dt{font-size:.8125rem;color:var(--faint)}
        .figures dd{margin:0;font-size:1.5rem;line-height:1.25;letter-spacing:-.01em;font-weight:600}
        .figures dd+dd,.facts dd+dd{font-size:.8125rem;font-weight:400;letter-spacing:0;color:var(--faint);line-height:1.5}
        .facts{display:flex;flex-wrap:wrap;gap:.6rem 2rem;margin:.5rem 0 1.25rem}
        .facts dd{margin:0;font-weight:600}
        nav{position:sticky;top:0;z-index:1;margin-top:2rem;background:var(--paper);
        border-bottom:1px solid var(--line)}
        nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:0 1.25rem;padding-top:.4rem;padding-bottom:.4rem}
        nav a{display:block;padding:.3rem 0;color:var(--faint);text-decoration:none;font-size:.875rem}
        nav a:hover,nav a:focus-visible{color:var(--ink);text-decoration:underline;text-underline-offset:.25em}
        main>section{padding:2.25rem 0 2rem;border-bottom:1px solid var(--line);scroll-margin-top:2.5rem}
        main>section:last-child{border-bottom:0}
        .pair{display:grid;grid-template-columns:1fr 1fr;gap:1.5rem 3rem}
        .pair>*{min-width:0}
        table{border-collapse:collapse;width:100%;font-size:.9375rem}
        caption{text-align:left;padding:0 0 .4rem}
        th,td{text-align:left;vertical-align:baseline;padding:.45rem 1rem .45rem 0;border-top:1px solid var(--line)}
        th:last-child,td:last-child{padding-right:0}
        thead th{font-size:.8125rem;font-weight:400;color:var(--faint);border-top:0;white-space:nowrap}
        tbody th{font-weight:400}
        .shares th,thead th{overflow-wrap:normal}
        .num{text-align:right;white-space:nowrap}
        @media (min-width:27rem){time{white-space:nowrap}}
        th.num,td.num{padding-right:1.75rem}
        td small,th small{display:block;font-size:.8125rem;color:var(--faint)}
        .track{display:block;height:.5rem;min-width:3.5rem;border-radius:.25rem;background:var(--track);overflow:hidden}
        .track i{display:block;height:100%;background:var(--bar);border-radius:.25rem}
        td.bar{vertical-align:top;padding-top:1rem}
        .shares td.bar{width:32%}
        .shares th.num,.shares td.num{padding-right:0;padding-left:1rem}
        ul.plain{list-style:none;margin:.25rem 0 .75rem;padding:0}
        ul.plain li{padding:.15rem 0}
        details{margin:.5rem 0}
        summary{cursor:pointer;padding:.25rem 0;width:fit-content;max-width:100%}
        summary:hover{text-decoration:underline;text-underline-offset:.25em}
        :focus-visible{outline:2px solid var(--bar);outline-offset:2px}
        .cause{border-top:1px solid var(--line);padding:.9rem 0 .4rem}
        .cause h3{margin-top:0}
        .cause:first-of-type{margin-top:.5rem}
        figure{margin:1.5rem 0 0}
        figcaption{margin:0 0 .6rem;max-width:46rem}
        .lane{display:grid;grid-template-columns:15rem 1fr;gap:.25rem 1.25rem;align-items:start;
        padding:.55rem 0;border-top:1px solid var(--line)}
        .lane p{margin:0;min-width:0;font-size:.9375rem;line-height:1.35}
        .lane small{display:block;font-size:.8125rem;color:var(--faint)}
        .plot{min-width:0}
        svg{display:block;width:100%;overflow:hidden}
        .one,.many,.wait{fill:var(--bar)}
        .many{fill-opacity:.5}
        .lost{fill:none;stroke:var(--bad);stroke-width:1.5;stroke-dasharray:3 2;vector-effect:non-scaling-stroke}
        .grid{stroke:var(--line);stroke-width:1;vector-effect:non-scaling-stroke}
        .area{fill:var(--bar);fill-opacity:.22}
        .edge{fill:none;stroke:var(--bar);stroke-width:1.5;vector-effect:non-scaling-stroke}
        .mean{stroke:var(--faint);stroke-width:1;stroke-dasharray:4 4;vector-effect:non-scaling-stroke}
        .axis{position:relative;height:1.5rem;border-top:1px solid var(--line);font-size:.8125rem;color:var(--faint)}
        .axis span{position:absolute;top:.2rem;transform:translateX(-50%);white-space:nowrap}
        .axis span:first-child{transform:none}
        .axis span.end{transform:translateX(-100%)}
        .under{display:grid;grid-template-columns:15rem 1fr;gap:0 1.25rem}
        .key{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:.75rem 0 0;padding:0;list-style:none;font-size:.8125rem;color:var(--faint)}
        .key svg{display:inline-block;width:1.5rem;height:.6rem;margin-right:.4rem;vertical-align:baseline}
        footer{padding-top:1.5rem;padding-bottom:3rem;font-size:.8125rem;color:var(--faint)}
        @media (max-width:62rem){
        .lane,.under{grid-template-columns:1fr}.under>span{display:none}
        .shares,.shares caption,.shares thead,.shares tbody{display:block}
        .shares tr{display:grid;grid-template-columns:1fr 3.5rem 5.25rem;gap:.4rem .5rem;
        padding:.5rem 0 .7rem;border-top:1px solid var(--line)}
        .shares thead tr{border-top:0;padding:0}
        .shares th,.shares td,.shares td.bar{border:0;padding:0;width:auto}
        .shares .bar{grid-area:2/1/3/4}
        .shares thead th:nth-child(2){display:none}
        .shares th.num,.shares td.num{padding:0}
        }
        @media (max-width:46rem){
        header{padding-top:1.75rem}h1{font-size:1.75rem}
        nav{position:static}
        .figures{grid-template-columns:1fr 1fr}
        .figures div:nth-child(odd){padding-left:0;border-left:0}
        .figures div:nth-child(n+3){border-top:1px solid var(--line)}
        .figures dd{font-size:1.125rem}
        .pair{grid-template-columns:1fr}
        .cards thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
        .cards,.cards caption,.cards tbody,.cards tr,.cards th,.cards td{display:block;width:auto}
        .cards tr{padding:.7rem 0;border-top:1px solid var(--line)}
        .cards th,.cards td{border:0;padding:.05rem 0;text-align:left;white-space:normal}
        .cards tbody th{font-weight:600}
        .cards th small{font-weight:400}
        .cards td[data-label]{display:grid;grid-template-columns:6.5rem 1fr;gap:.75rem}
        .cards td[data-label]::before{content:attr(data-label);color:var(--faint);font-size:.8125rem;line-height:1.85}
        .cards td[data-label]>div{min-width:0}
        .cards td:not([data-label]){display:none}
        .dense td[data-label],.dense td[data-label]>div,.dense td small{display:inline}
        .dense td[data-label]::before{content:""}
        .dense td[data-label]+td[data-label]::before{content:" · "}
        }
        @media print{nav{display:none}body{background:#fff}main>section{break-inside:avoid-page}}

        """
}
