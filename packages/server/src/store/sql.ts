/** Pieces nest only as pieces: text from outside can only become a bound parameter. (Importing kysely costs 200 ms.) */
export interface Sql {
  readonly texts: readonly string[]
  readonly parameters: readonly (string | number | null)[]
}

export interface SqlText {
  readonly sql: string
  readonly parameters: readonly (string | number | null)[]
}

export function sql(texts: TemplateStringsArray, ...pieces: readonly Sql[]): Sql {
  const [first = '', ...rest] = texts
  const parts: Sql[] = [raw(first)]
  pieces.forEach((piece, index) => {
    parts.push(piece, raw(rest[index] ?? ''))
  })
  return joined(parts, '')
}

export const bound = (value: string | number | null): Sql => ({ texts: ['', ''], parameters: [value] })

/** Only for text of this code base, never of a request. */
export const raw = (text: string): Sql => ({ texts: [text], parameters: [] })

export const identifier = (name: string): Sql => raw(`"${name.replaceAll('"', '""')}"`)

export function joined(pieces: readonly Sql[], separator: string): Sql {
  const texts = ['']
  const parameters: (string | number | null)[] = []
  pieces.forEach((piece, index) => {
    const [first = '', ...rest] = piece.texts
    texts[texts.length - 1] += (index === 0 ? '' : separator) + first
    texts.push(...rest)
    parameters.push(...piece.parameters)
  })
  return { texts, parameters }
}

export function sqlTextOf({ texts, parameters }: Sql, placeholder: (index: number) => string): SqlText {
  return {
    sql: texts.reduce((sum, text, index) => sum + placeholder(index) + text),
    parameters,
  }
}
