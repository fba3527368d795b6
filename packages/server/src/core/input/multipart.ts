/** Reads multipart/form-data as the declared body. Source: behaviour conventions 1 (step 7); iam.md 5. */
import type { AnySchema, Operation } from '@hyperplane/contract'
import { ApiError } from '../api-error.ts'
import { parseJson } from './json.ts'

export const maximumParts = 50
const maximumFileName = 255
const maximumPartName = 100

export interface Part {
  readonly name: string
  readonly fileName?: string
  readonly content: Buffer
}

export const malformed = (fault: string): ApiError => new ApiError('MALFORMED_REQUEST', { fault })

/** @throws ApiError 400 when it is no form. The shape is validated later. */
export async function readForm(operation: Operation, bytes: Uint8Array, contentType: string): Promise<unknown> {
  return fieldsOf(operation, await multipartParts(bytes, contentType))
}

export function fieldsOf(operation: Operation, parts: readonly Part[]): object {
  const fields = operation.body?.type === 'object' ? operation.body.fields : {}
  const files = operation.form?.files ?? {}
  const body = new Map<string, unknown>()
  const put = (name: string, value: unknown): void => {
    if (body.has(name)) throw malformed(`the part "${name}" occurs twice, or as text and as a file.`)
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
    const values = same.map(({ content }) => fieldValue(itemOf(schema), decodedText(name, content), name))
    if (schema?.type === 'list') put(name, values)
    else for (const value of values) put(name, value)
  }
  return Object.fromEntries(body)
}

function byName(parts: readonly Part[]): Map<string, Part[]> {
  const named = new Map<string, Part[]>()
  for (const part of parts) named.set(part.name, [...(named.get(part.name) ?? []), part])
  return named
}

const itemOf = (schema: AnySchema | undefined): AnySchema | undefined =>
  schema?.type === 'list' ? schema.items : schema

function fieldValue(schema: AnySchema | undefined, text: string, name: string): unknown {
  // Read-only fields are ignored later; their text is never parsed.
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

function decodedText(name: string, content: Buffer): string {
  try {
    // Browsers send line breaks of text fields as CR LF.
    return new TextDecoder('utf-8', { fatal: true }).decode(content).replaceAll('\r\n', '\n')
  } catch {
    throw malformed(`the part "${name}" is not in UTF-8.`)
  }
}

/** In base64 if it is not UTF-8: the reader of the field reports what was expected. */
function fileText(content: Buffer): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(content)
    if (!text.includes('\0')) return text
  } catch {
    // Not UTF-8.
  }
  return content.toString('base64')
}

async function multipartParts(bytes: Uint8Array, contentType: string): Promise<readonly Part[]> {
  const { Busboy } = await import('@fastify/busboy')
  const parts: Part[] = []
  let form: InstanceType<typeof Busboy>
  try {
    form = new Busboy({
      headers: { 'content-type': contentType },
      // File names with paths are refused, not shortened.
      preservePath: true,
      // Deliver every part as bytes: for text parts the library would replace invalid UTF-8.
      isPartAFile: () => true,
      limits: { parts: maximumParts, headerPairs: 20 },
      // The form is in memory already. With a lower mark, the library hangs on a large part that it skips.
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

export function partFault(name: string, fileName: string | undefined): string | undefined {
  if (!name || name.length > maximumPartName) return 'a part of the form has no name, or a long one.'
  if (fileName === undefined) return undefined
  if (/[/\\\0]/.test(fileName) || fileName === '..') return 'the name of a file holds a path, expected the name alone.'
  if (fileName.length > maximumFileName) return `the name of a file is longer than ${maximumFileName} characters.`
  return undefined
}
