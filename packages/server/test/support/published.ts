/** Extracts requests and commands from the published pages, so that new examples are tested automatically. */
import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../../../..')

export const pages = ['README.md', ...globSync(['docs/how-to/*.md', 'docs/reference/*.md'], { cwd: root })].sort()

export interface Example {
  /** `docs/how-to/write-a-seed.md:42`. */
  readonly where: string
  readonly language: string
  /** What stands behind the language: for JSON, the request that the body belongs to, or `answer`. */
  readonly mark: string
  readonly text: string
}

/** Blocks of code, but for those that show a file of the folder `examples`, which run by themselves. */
export function blocksOf(page: string): readonly Example[] {
  const text = readFileSync(resolve(root, page), 'utf8')
  return [...text.matchAll(/(\]\(examples\/[^\n]*\)\n\n)?^( *)```(\w+)(?: ([^\n]*))?\n([\s\S]*?)^ *```$/gm)].flatMap(
    (match): Example[] => {
      const [, isFile, indent = '', language = '', mark = '', content = ''] = match
      if (isFile !== undefined) return []
      const where = `${page}:${lineOf(text, match.index)}`
      return [{ where, language, mark, text: content.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }]
    },
  )
}

/** JSON in running text: whole objects, and fields of one (`"location": {…}`). */
export function inlineOf(page: string): readonly Example[] {
  const text = readFileSync(resolve(root, page), 'utf8').replaceAll(/^ *```[\s\S]*?^ *```$/gm, (block) =>
    block.replaceAll(/[^\n]/g, ' '),
  )
  return [...text.matchAll(/`((?:"\w+": )?\{"[^`]*\}|"\w+": [^`]+)`/g)].map((match) => {
    const [, found = ''] = match
    const json = found.startsWith('{') ? found : `{${found}}`
    return { where: `${page}:${lineOf(text, match.index)}`, language: 'json', mark: '', text: json }
  })
}

export interface CurlCall {
  readonly where: string
  readonly method: string
  /** With query, below the origin. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly form?: Readonly<Record<string, string>>
}

/** Calls of `curl` in a block; `variables` stand for what the shell would put in. */
export function curlCallsOf({ where, text }: Example, variables: Readonly<Record<string, string>>): CurlCall[] {
  return [...text.matchAll(/\bcurl /g)].map(({ index }) => curlCall(where, wordsOf(text.slice(index), variables)))
}

interface Start {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Each `npm start --` in a block, with the variables before it. */
export const startsOf = ({ text }: Example): Start[] =>
  [...text.matchAll(/((?:[A-Z_]+=\S+[\s\\]+)*)(npm start -- )/g)].map(({ index, 1: variables = '' }) => ({
    argv: untilOperator(wordsOf(text.slice(index + variables.length), {}).slice(3)),
    env: Object.fromEntries([...variables.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value])),
  }))

/** The words of the command itself: `&` and what follows it are the shell's. */
const untilOperator = (words: string[]): string[] => (words.includes('&') ? words.slice(0, words.indexOf('&')) : words)

function curlCall(where: string, words: readonly string[]): CurlCall {
  const headers: Record<string, string> = {}
  const form: Record<string, string> = {}
  let body: string | undefined
  let method: string | undefined
  let url: URL | undefined
  for (let at = 1; at < words.length; at++) {
    const word = words[at] as string
    const value = (): string => words[++at] as string
    if (word === '-d') body = value()
    else if (word === '-X') method = value()
    else if (word === '-H') {
      const [name = '', content = ''] = value().split(/: ?(.*)/s)
      headers[name.toLowerCase()] = content
    } else if (word === '-F') {
      const [name = '', content = ''] = value().split(/=(.*)/s)
      form[name] = content
    } else if (word === '--cacert' || word === '-o' || /^-\w*u$/.test(word)) value()
    else if (word.startsWith('http')) url = new URL(word)
    else if (word !== '…' && word !== '-s')
      throw new Error(`${where}: curl has an argument that is not understood: ${word}`)
  }
  if (url === undefined) throw new Error(`${where}: curl calls no URL`)
  // As curl says unless it is told otherwise; an elided command leaves out what stands above it.
  if (body !== undefined && !words.includes('…')) headers['content-type'] ??= 'application/x-www-form-urlencoded'
  const isForm = Object.keys(form).length > 0
  return {
    where,
    method: method ?? (body === undefined && !isForm ? 'GET' : 'POST'),
    path: url.pathname + url.search,
    headers,
    ...(body === undefined ? {} : { body }),
    ...(isForm ? { form } : {}),
  }
}

/** Arguments of the first command, split as a shell does. */
function wordsOf(text: string, variables: Readonly<Record<string, string>>): string[] {
  const words: string[] = []
  const token = /\\\n|'([^']*)'|"((?:[^"\\]|\\.)*)"|(\s*(?:\n|\||\)|#|$))|([ \t]+)|([^\s'"|)\\]+)/gy
  let word: string | undefined
  const end = (): void => {
    if (word !== undefined) words.push(word)
    word = undefined
  }
  for (const [whole, single, double, stop, space, plain] of text.matchAll(token)) {
    if (stop !== undefined || (space !== undefined && whole === '')) break
    if (space !== undefined || whole === '\\\n') end()
    else word = (word ?? '') + (single ?? filled(double ?? plain ?? '', variables))
  }
  end()
  return words
}

const filled = (text: string, variables: Readonly<Record<string, string>>): string =>
  text
    .replaceAll(/\$\((\w+)\)|\$(\w+)/g, (_, command, name) => variables[command ?? name] ?? '')
    .replaceAll(/\\(.)/g, '$1')

const lineOf = (text: string, index: number): number => text.slice(0, index).split('\n').length
