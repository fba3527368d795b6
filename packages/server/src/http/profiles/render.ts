/** JSON of a profile. Fields outside the contract are never written: internal fields and secrets cannot leak. Source: conventions 2.3. */
import { type AnySchema, type ObjectSchema, secretMask } from '@hyperplane/contract'
import { chooseAlternative } from '../../core/input/validate.ts'
import { type Profile, pathIn, relIn, systemNameIn, taskIdIn, typeIn } from './names.ts'

export interface RenderSettings {
  readonly profile: Profile
  /** Namespace and version of the called operation: `clustermgmt`, `v4.0`. */
  readonly namespace: string
  readonly version: string
  /** Only answers to creations show one-time secrets. */
  readonly isCreation?: boolean
  readonly versionOf: (namespace: string) => string
}

/** A schema has no static type here. */
type Json = any

/** `origin`: `https://host:port`, for absolute links. */
export type Renderer = (value: Json, origin: string) => string

/** `v4.3` -> `v4.r3`, `v4.1.b2` -> `v4.r1.b2`. */
const revision = (version: string): string => version.replace(/^v(\d+)\.(\d+)/, 'v$1.r$2')

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

const plain: Renderer = (value) => JSON.stringify(value) ?? 'null'

/** The renderer throws a TypeError for a value that does not fit the schema, which is a bug. */
export function rendererOf(schema: AnySchema, settings: RenderSettings): Renderer {
  const { profile } = settings
  switch (schema.type) {
    case 'object':
      return objectRenderer(schema, settings)
    case 'list': {
      const item = rendererOf(schema.items, settings)
      return (value: readonly Json[], origin) => `[${value.map((one) => item(one, origin)).join(',')}]`
    }
    case 'oneOf': {
      const renderers = new Map(schema.alternatives.map((each) => [each, rendererOf(each, settings)]))
      return (value, origin) => {
        const [alternative] = chooseAlternative(schema.alternatives, value)
        const render = alternative === undefined ? plain : (renderers.get(alternative) ?? plain)
        return render(value, origin)
      }
    }
    case 'map':
      return schema.values.type === 'text' ? plain : mapRenderer(rendererOf(schema.values, settings))
    case 'taskId':
      return profile === 'spec' ? plain : (value, origin) => plain(taskIdIn(profile, value), origin)
    case 'enumeration': {
      const { valuesSince } = schema
      if (valuesSince === undefined) return plain
      const isNewer = (value: string): boolean => settings.version < (valuesSince[value] ?? '')
      return (value, origin) => plain(isNewer(value) ? '$UNKNOWN' : value, origin)
    }
    case 'text':
      return textRenderer(schema.named, profile)
    default:
      return plain
  }
}

function textRenderer(named: string | undefined, profile: Profile): Renderer {
  if (named === 'href') {
    return (value: string, origin) =>
      JSON.stringify(value.startsWith('/') ? `${origin}/api${pathIn(profile, value)}` : value)
  }
  if (named === undefined || profile === 'spec') return plain
  const spelled = named === 'rel' ? relIn : named === 'objectType' ? typeIn : systemNameIn
  return (value) => JSON.stringify(spelled(profile, value))
}

const mapRenderer =
  (item: Renderer): Renderer =>
  (value: Readonly<Record<string, Json>>, origin) =>
    `{${Object.entries(value)
      .filter(([, one]) => one !== undefined)
      .map(([name, one]) => `${JSON.stringify(name)}:${item(one, origin)}`)
      .join(',')}}`

interface FieldRenderer {
  readonly name: string
  readonly key: string
  readonly render: Renderer
  /** For a oneOf in the public profile: `"$nameItemDiscriminator":`, and the type of a value. */
  readonly discriminator?: { readonly key: string; readonly of: (value: Json) => string }
  /** Only names of entities that the system defines are rewritten: an entity of a client may have the same name. */
  readonly isSystemName: boolean
}

function objectRenderer(schema: ObjectSchema, settings: RenderSettings): Renderer {
  // In the order of the contract, not of storage.
  const fields = Object.entries(schema.fields).flatMap(([name, field]) =>
    isShown(field, settings) ? [fieldRenderer(name, field, settings)] : [],
  )
  const begin = beginningOf(schema, settings)
  return (value, origin) => {
    let text = begin(value)
    for (const field of fields) {
      const item = value[field.name]
      if (item === undefined || item === null || (Array.isArray(item) && item.length === 0)) continue
      const isNameOfClient = field.isSystemName && value['isSystemDefined'] === false
      text += `${text === '{' ? '' : ','}${field.key}${(isNameOfClient ? plain : field.render)(item, origin)}`
      if (field.discriminator !== undefined)
        text += `,${field.discriminator.key}${JSON.stringify(field.discriminator.of(item))}`
    }
    return `${text}}`
  }
}

const isShown = (field: AnySchema, { isCreation, version, profile }: RenderSettings): boolean =>
  (field.secret !== true || (field.oneTime === true && isCreation === true) || isMasked(field, profile)) &&
  (field.since === undefined || version >= field.since)

const isMasked = (field: AnySchema, profile: Profile): boolean =>
  profile === 'public' && field.type === 'text' && field.maskedInPublic === true

const mask: Renderer = () => JSON.stringify(secretMask)

const fieldRenderer = (name: string, field: AnySchema, settings: RenderSettings): FieldRenderer => ({
  name,
  key: `${JSON.stringify(name)}:`,
  render: isMasked(field, settings.profile) ? mask : rendererOf(field, settings),
  isSystemName: field.type === 'text' && field.named === 'systemName',
  ...(settings.profile === 'public' && field.type === 'oneOf'
    ? {
        discriminator: {
          key: `${JSON.stringify(`$${name}ItemDiscriminator`)}:`,
          of: (value: Json) => discriminatorOf(field, value, settings.profile),
        },
      }
    : {}),
})

/** `{`, the type if there is one, and in the public profile `$reserved`. */
function beginningOf(schema: ObjectSchema, settings: RenderSettings): (value: Json) => string {
  const { objectType, foldsInto } = schema
  if (objectType === undefined) return () => '{'
  const type = `{"$objectType":${JSON.stringify(typeIn(settings.profile, objectType))}`
  if (settings.profile === 'spec') return () => type
  const reserved = (content: object): string => `${type},"$reserved":${JSON.stringify(content)}`
  const defaultText = reserved(reservedOf(settings, objectType))
  if (foldsInto === undefined) return () => defaultText
  return (value) => {
    const content: object | undefined | null = value[foldsInto]
    return content === undefined || content === null ? defaultText : reserved(content)
  }
}

export function discriminatorOf(schema: AnySchema, value: Json, profile: Profile): string {
  const actual = schema.type === 'oneOf' ? chooseAlternative(schema.alternatives, value)[0] : schema
  if (actual === undefined) return 'EMPTY'
  if (actual.type === 'object') return typeIn(profile, actual.objectType ?? '')
  if (actual.type === 'list') return `List<${discriminatorOf(actual.items, value[0], profile)}>`
  if (actual.type === 'map') return 'Map<String, String>'
  if (actual.type === 'integer' || actual.type === 'number') return 'Integer'
  return actual.type === 'boolean' ? 'Boolean' : 'String'
}
