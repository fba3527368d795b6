/**
 * Bodies that come as a form (multipart/form-data): parts become the fields of the declared body, texts become what the
 * fields say. Source: behaviour conventions 1 (step 7); iam.md 5.
 */
import type { AnySchema, Operation } from '@hyperplane/contract'
import { ApiError } from '../api-error.ts'
import { parseJson } from './json.ts'

export const maximumParts = 50
const maximumFileName = 255
const maximumPartName = 100

export interface Part {
  readonly name: string
  /** Absent: the part is plain text. */
  readonly fileName?: string
  readonly content: Buffer
}

export const malformed = (fault: string): ApiError => new ApiError('MALFORMED_REQUEST', { fault })

/**
 * The body as JSON would bring it; faults of its shape are found later, like those of JSON.
 * @throws ApiError 400 when it is no form
 */
export async function readForm(operation: Operation, bytes: Uint8Array, contentType: string): Promise<unknown> {
  return fieldsOf(operation, await partsOf(bytes, contentType))
}

/** The parts as fields of the body. @throws ApiError 400 */
export function fieldsOf(operation: Operation, parts: readonly Part[]): object {
  const fields = operation.body?.type === 'object' ? operation.body.fields : {}
  const files = operation.form?.files ?? {}
  const body = new Map<string, unknown>()
  const put = (name: string, value: unknown): void => {
    if (body.has(name)) throw malformed(`the part "${name}" stands twice, or as text and as a file.`)
    body.set(name, value)
  }
  for (const [name, same] of byName(parts)) {
    const file = same.find(({ fileName }) => fileName !== undefined)
    const contentField = files[name]
    if (file !== undefined && contentField === undefined)
      throw malformed(`the part "${name}" is a file, expected text.`)
    if (file !== undefined && same.length === 1) {
      put(name, file.fileName)
      put(contentField as string, fileText(file.content))
      continue
    }
    const schema = fields[name]
    const values = same.map(({ content }) => fieldValue(itemOf(schema), textOf(name, content), name))
    if (schema?.type === 'list') put(name, values)
    else for (const value of values) put(name, value)
  }
  // A text may come before the file that it stands beside.
  return Object.fromEntries(body)
}

function byName(parts: readonly Part[]): Map<string, Part[]> {
  const named = new Map<string, Part[]>()
  for (const part of parts) named.set(part.name, [...(named.get(part.name) ?? []), part])
  return named
}

/** Repeated parts are the elements of a list. */
const itemOf = (schema: AnySchema | undefined): AnySchema | undefined =>
  schema?.type === 'list' ? schema.items : schema

function fieldValue(schema: AnySchema | undefined, text: string, name: string): unknown {
  // What the server sets is ignored in a body, whatever it is.
  if (schema === undefined || schema.readOnly === true) return text
  if (schema.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  if (schema.type === 'integer' || schema.type === 'number') return /^-?\d{1,15}$/.test(text) ? Number(text) : text
  if (schema.type !== 'object') return text
  try {
    return parseJson(Buffer.from(text))
  } catch {
    throw malformed(`the part "${name}" is no JSON.`)
  }
}

function textOf(name: string, content: Buffer): string {
  try {
    // A form ends each line of a text with CR LF, whatever it was written with.
    return new TextDecoder('utf-8', { fatal: true }).decode(content).replaceAll('\r\n', '\n')
  } catch {
    throw malformed(`the part "${name}" is not in UTF-8.`)
  }
}

/** A text, or the base64 of bytes that are none: whoever reads it tells what was expected there. */
function fileText(content: Buffer): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(content)
    if (!text.includes('\0')) return text
  } catch {
    // Not a text.
  }
  return content.toString('base64')
}

async function partsOf(bytes: Uint8Array, contentType: string): Promise<readonly Part[]> {
  const { Busboy } = await import('@fastify/busboy')
  const parts: Part[] = []
  let form: InstanceType<typeof Busboy>
  try {
    form = new Busboy({
      headers: { 'content-type': contentType },
      // Paths are refused, not cut off.
      preservePath: true,
      // Every part comes as it was sent: as a text, the library would mend what is not in UTF-8.
      isPartAFile: () => true,
      limits: { parts: maximumParts, headerPairs: 20 },
      // The whole is in memory already. With less room the library waits for ever behind a large part that it skips.
      highWaterMark: bytes.byteLength + 1,
      fileHwm: bytes.byteLength + 1,
    })
  } catch {
    throw malformed('its Content-Type names no boundary for the parts of the form.')
  }
  await new Promise<void>((resolve, reject) => {
    const refuse = (fault: string): void => reject(malformed(fault))
    form.on('error', () => refuse('the form is cut off, or its parts are not separated as its Content-Type says.'))
    form.on('partsLimit', () => refuse(`the form has more than ${maximumParts} parts.`))
    form.on('file', (name, stream, fileName) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('error', () => refuse('a part of the form is cut off.'))
      stream.on('end', () => parts.push({ name, fileName, content: Buffer.concat(chunks) }))
      const fault = partFault(name, fileName)
      if (fault !== undefined) refuse(fault)
    })
    form.on('finish', resolve)
    form.end(Buffer.from(bytes))
  })
  return parts
}

/** What is wrong with how a part is named; undefined: nothing. */
export function partFault(name: string, fileName: string | undefined): string | undefined {
  if (!name || name.length > maximumPartName) return 'a part of the form has no name, or a long one.'
  if (fileName === undefined) return undefined
  if (/[/\\\0]/.test(fileName) || fileName === '..') return 'the name of a file holds a path, expected the name alone.'
  if (fileName.length > maximumFileName) return `the name of a file is longer than ${maximumFileName} characters.`
  return undefined
}
