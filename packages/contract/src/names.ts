type Blank = ' ' | '\n'
type Trimmed<S extends string> = S extends `${Blank}${infer Rest}`
  ? Trimmed<Rest>
  : S extends `${infer Rest}${Blank}`
    ? Trimmed<Rest>
    : S

export type NameIn<S extends string, Found = never> = S extends `${infer Name},${infer Rest}`
  ? NameIn<Rest, Found | Trimmed<Name>>
  : Found | Trimmed<S>

/** Comma-separated, so that several names fit on one line; the type knows each of them. */
export const names = <const S extends string>(text: S): readonly NameIn<S>[] =>
  text.split(',').map((name) => name.trim() as NameIn<S>)
