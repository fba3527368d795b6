/** Parses untrusted XML: no DOCTYPE (entities, external references), limited size. Source: behaviour iam.md 5, vmm.md 1.11. */
import type { XmlElement as ParsedElement } from '@rgrove/parse-xml'

export interface XmlElement {
  readonly namespace: string
  readonly name: string
  /** Without prefixed attributes. */
  readonly attributes: Readonly<Record<string, string>>
  /** Prefixed attributes, by namespace and name with a space between. */
  readonly qualified: Readonly<Record<string, string>>
  readonly children: readonly XmlElement[]
  readonly text: string
}

/** The message does not quote the document. */
export class XmlFault extends Error {
  override readonly name = 'XmlFault'
}

/** Typical metadata has about 100 elements in ten levels; the time to verify signatures grows faster than linearly. */
const maximumElements = 10_000
const maximumDepth = 40
const maximumAttributes = 100
/** An element has up to two; comments have some too. */
const maximumTags = 4 * maximumElements
const declaration = /<!(?!--|\[CDATA\[)/

export async function readXml(text: string): Promise<XmlElement> {
  if (declaration.test(text))
    throw new XmlFault('it has a document type (DOCTYPE) or another declaration; leave it out')
  if (hasTooManyTags(text)) throw tooManyElements()
  const { parseXml } = await import('@rgrove/parse-xml')
  let root: ParsedElement | null
  try {
    root = parseXml(text).root
  } catch (error) {
    throw notWellFormed(error)
  }
  if (root === null) throw new XmlFault('it has no element')
  return convert(root, new Map([['xml', 'http://www.w3.org/XML/1998/namespace']]), 1, { elements: 0 })
}

const tooManyElements = (): XmlFault => new XmlFault(`it has more than ${maximumElements} elements`)

/** Counted first: the parser makes a tree of the whole text. */
function hasTooManyTags(text: string): boolean {
  let tags = 0
  for (let at = text.indexOf('<'); at >= 0 && tags <= maximumTags; at = text.indexOf('<', at + 1)) tags++
  return tags > maximumTags
}

function notWellFormed(error: unknown): XmlFault {
  if (error instanceof RangeError) return new XmlFault(`its elements nest deeper than ${maximumDepth} levels`)
  const at = /\(line (\d+), column (\d+)\)/.exec((error as Error).message)
  return new XmlFault(`it is not well-formed XML${at === null ? '' : ` (line ${at[1]}, column ${at[2]})`}`)
}

function convert(
  element: ParsedElement,
  outer: ReadonlyMap<string, string>,
  depth: number,
  count: { elements: number },
): XmlElement {
  if (depth > maximumDepth) throw new XmlFault(`its elements nest deeper than ${maximumDepth} levels`)
  if (++count.elements > maximumElements) throw tooManyElements()
  const given = Object.entries(element.attributes)
  if (given.length > maximumAttributes) throw new XmlFault(`an element has more than ${maximumAttributes} attributes`)
  const scope = new Map(outer)
  const attributes: Record<string, string> = Object.create(null)
  for (const [name, value] of given) {
    if (name === 'xmlns') scope.set('', value)
    else if (name.startsWith('xmlns:')) scope.set(name.slice('xmlns:'.length), value)
    else if (!name.includes(':')) attributes[name] = value
  }
  const [name = '', prefix = '', ...more] = element.name.split(':').reverse()
  if (more.length > 0) throw new XmlFault('the name of an element has several colons')
  const namespace = scope.get(prefix) ?? ''
  if (prefix !== '' && namespace === '') throw new XmlFault('it uses a prefix without saying its namespace')
  const qualified: Record<string, string> = Object.create(null)
  for (const [prefixed, value] of given) {
    const [own, local] = prefixed.split(':')
    const space = local === undefined || own === 'xmlns' ? undefined : scope.get(own as string)
    if (space !== undefined) qualified[`${space} ${local}`] = value
  }
  const children: XmlElement[] = []
  let text = ''
  for (const child of element.children) {
    if (child.type === 'element') children.push(convert(child as ParsedElement, scope, depth + 1, count))
    else if (child.type === 'text' || child.type === 'cdata') text += (child as unknown as { text: string }).text
  }
  return { namespace, name, attributes, qualified, children, text }
}

export const childrenOf = (element: XmlElement, namespace: string, name: string): readonly XmlElement[] =>
  element.children.filter((child) => child.namespace === namespace && child.name === name)

export function* elementsIn(element: XmlElement): Generator<XmlElement> {
  yield element
  for (const child of element.children) yield* elementsIn(child)
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
}

export const escapeXml = (text: string): string =>
  text.replace(/[&<>"\t\n\r]/g, (character) => escapes[character] as string)
