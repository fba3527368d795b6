/**
 * Canonical values -> JSON of a profile, guided by the contract: type names, discriminators, task ids, links. What the
 * contract does not name is never answered, so neither internal fields nor secrets can leave. Source: conventions 2.3.
 */
import type { AnySchema, ObjectSchema } from '@hyperplane/contract'
import { chooseAlternative } from '../../core/validate.ts'
import { type Profile, pathIn, relIn, systemNameIn, taskIdIn, typeIn } from './names.ts'

export interface RenderSettings {
  readonly profile: Profile
  /** Namespace and version that answer: `clustermgmt`, `v4.0`. */
  readonly namespace: string
  readonly version: string
  /** `https://host:port`, for absolute links. */
  readonly origin: string
  /** The answer to a creation: the only one that shows one-time secrets. */
  readonly isCreation?: boolean
  /** Newest version of a namespace, for types of others. */
  readonly versionOf: (namespace: string) => string
}

/** `v4.3` -> `v4.r3`, `v4.1.b2` -> `v4.r1.b2`. */
const revision = (version: string): string => version.replace(/^v(\d+)\.(\d+)/, 'v$1.r$2')

/** Content of `$reserved` for an object of this type. */
export function reservedOf(settings: RenderSettings, type: string): Record<string, string> {
  if (settings.namespace === 'storage') {
    const [owner, major, ...rest] = typeIn('public', type).split('.')
    return { $fqObjectType: [owner, major === 'v1' ? 'v1.r0.a3' : revision(settings.version), ...rest].join('.') }
  }
  const owner = type.slice(0, type.indexOf('.'))
  if (owner === 'common') return { $fv: 'v1.r0' }
  if (owner === settings.namespace) return { $fv: revision(settings.version) }
  return { $fv: revision(settings.versionOf(owner)) }
}

type Json = any

export function render(schema: AnySchema, value: Json, settings: RenderSettings): Json {
  switch (schema.type) {
    case 'object':
      return renderObject(schema, value, settings)
    case 'list':
      return (value as Json[]).map((item) => render(schema.items, item, settings))
    case 'oneOf': {
      const alternative = alternativeOf(schema.alternatives, value)
      return alternative === undefined ? value : render(alternative, value, settings)
    }
    case 'map':
      return schema.values.type === 'text' ? value : mapValues(value, (item) => render(schema.values, item, settings))
    case 'taskId':
      return taskIdIn(settings.profile, value)
    case 'enumeration': {
      const newer = schema.valuesSince?.[value]
      return newer !== undefined && settings.version < newer ? '$UNKNOWN' : value
    }
    case 'text':
      return schema.named === undefined ? value : renderText(schema.named, value, settings)
    default:
      return value
  }
}

function renderText(named: string, value: string, settings: RenderSettings): string {
  if (named === 'rel') return relIn(settings.profile, value)
  if (named === 'href')
    return value.startsWith('/') ? `${settings.origin}/api${pathIn(settings.profile, value)}` : value
  if (named === 'objectType') return typeIn(settings.profile, value)
  return systemNameIn(settings.profile, value)
}

function renderObject(schema: ObjectSchema, value: Json, settings: RenderSettings): Json {
  const shown: Record<string, Json> = {}
  const isPublic = settings.profile === 'public'
  if (schema.objectType !== undefined) {
    shown['$objectType'] = typeIn(settings.profile, schema.objectType)
    if (isPublic) shown['$reserved'] = value[schema.foldsInto ?? ''] ?? reservedOf(settings, schema.objectType)
  }
  // The order of the fields is the contract's, whatever the order in which they were stored.
  for (const name in schema.fields) {
    const field = schema.fields[name] as AnySchema
    const item = value[name]
    if (item === undefined || item === null) continue
    if (field.secret === true && !(field.oneTime === true && settings.isCreation === true)) continue
    if (field.since !== undefined && settings.version < field.since) continue
    if (Array.isArray(item) && item.length === 0) continue
    if (field.type === 'text' && field.named === 'systemName' && value['isSystemDefined'] === false) {
      shown[name] = item
      continue
    }
    shown[name] = render(field, item, settings)
    if (isPublic && field.type === 'oneOf')
      shown[`$${name}ItemDiscriminator`] = discriminatorOf(field, item, settings.profile)
  }
  return shown
}

function alternativeOf(alternatives: readonly AnySchema[], value: Json): AnySchema | undefined {
  return chooseAlternative(alternatives, value)[0]
}

/** Tells public clients which alternative a value is. */
export function discriminatorOf(schema: AnySchema, value: Json, profile: Profile): string {
  const actual = schema.type === 'oneOf' ? alternativeOf(schema.alternatives, value) : schema
  if (actual === undefined) return 'EMPTY'
  if (actual.type === 'object') return typeIn(profile, actual.objectType ?? '')
  if (actual.type === 'list') return `List<${discriminatorOf(actual.items, (value as Json[])[0], profile)}>`
  if (actual.type === 'map') return 'Map<String, String>'
  if (actual.type === 'integer' || actual.type === 'number') return 'Integer'
  return actual.type === 'boolean' ? 'Boolean' : 'String'
}

function mapValues(value: Record<string, Json>, change: (item: Json) => Json): Record<string, Json> {
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, change(item)]))
}
