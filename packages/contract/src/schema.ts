/** Functions that declare fields as plain objects; `ValueOf` derives the TypeScript type from a declaration. */
import { type NameIn, names } from './names.ts'

export type Schema<T = unknown> = AnySchema & { readonly is?: T }

/** `is` carries the TypeScript type of a value and does not exist at run time. */
interface Common {
  readonly optional?: true
  /** Ignored in a body. */
  readonly readOnly?: true
  /** May be sent again only with the stored value (400 PLAT-10012 otherwise). */
  readonly immutable?: true
  /** Write-only: sealed at rest, absent from every answer, log and error. */
  readonly secret?: true
  /** A secret that only the answer to its creation carries (API keys). */
  readonly oneTime?: true
  /** Stored by create and replacing update when the field is absent. */
  readonly defaultsTo?: unknown
  /** Omitted for callers who may not see the entity of `kind` whose id is at the path `by` of the item. */
  readonly visibleWith?: { readonly kind: string; readonly by: string }
  /** First version of the namespace that shows this field. */
  readonly since?: string
  /** First version of the namespace in which an optional query parameter is required. */
  readonly requiredSince?: string
}

export interface TextSchema extends Common {
  readonly type: 'text'
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  /** The naming profiles spell this text differently (conventions 2.2). */
  readonly named?: 'rel' | 'href' | 'systemName' | 'clientName' | 'objectType'
  /** A name although the field is not called one (`key` of a category): only blanks are refused. */
  readonly isName?: true
  /** A secret that public answers show as the mask; the mask as a new value counts as absent. */
  readonly maskedInPublic?: true
  /** Line breaks and tabs are allowed (descriptions, certificates). */
  readonly multiline?: true
}
export interface UuidSchema extends Common {
  readonly type: 'uuid'
  readonly refersTo?: string
  /** The id may also be that of an entity of this kind. Only for bodies: rows do not store such references. */
  readonly orRefersTo?: string
}
/** Id of a task: a plain UUID in the spec profile, `ZXJnb24=:<uuid>` in the public one. */
export interface TaskIdSchema extends Common {
  readonly type: 'taskId'
  /** Paths only: the public profile takes the plain UUID, too. */
  readonly isPrefixOptional?: boolean
}
export interface IntegerSchema extends Common {
  readonly type: 'integer'
  readonly minimum?: number
  readonly maximum?: number
}
export interface NumberSchema extends Common {
  readonly type: 'number'
  readonly minimum?: number
  readonly maximum?: number
}
export interface BooleanSchema extends Common {
  readonly type: 'boolean'
}
/** RFC 3339 with an offset; stored and answered in UTC with six fractional digits. */
export interface TimestampSchema extends Common {
  readonly type: 'timestamp'
}
export interface EnumerationSchema extends Common {
  readonly type: 'enumeration'
  readonly values: readonly string[]
  /** Values that older versions of the namespace lack: value -> first version. */
  readonly valuesSince?: Readonly<Record<string, string>>
}
export interface ListSchema extends Common {
  readonly type: 'list'
  readonly items: AnySchema
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: true
}
export interface ObjectSchema<F extends Fields = Fields> extends Common {
  readonly type: 'object'
  /** Canonical (spec profile); absent for shapes that carry none. */
  readonly objectType?: string
  readonly fields: F
  /** Field that a filter on the object itself compares (`parentTask eq '…'`), or a text that handlers of lists add. */
  readonly filteredBy?: string
  /** The content may also be under `$reserved` (public answers: always), or in properties of the object. */
  readonly foldsInto?: string
}
export interface OneOfSchema extends Common {
  readonly type: 'oneOf'
  readonly alternatives: readonly AnySchema[]
}
export interface MapSchema extends Common {
  readonly type: 'map'
  readonly values: AnySchema
}
export interface AnythingSchema extends Common {
  readonly type: 'anything'
}

export type AnySchema =
  | TextSchema
  | UuidSchema
  | TaskIdSchema
  | IntegerSchema
  | NumberSchema
  | BooleanSchema
  | TimestampSchema
  | EnumerationSchema
  | ListSchema
  | ObjectSchema
  | OneOfSchema
  | MapSchema
  | AnythingSchema

export type Fields = { readonly [name: string]: AnySchema & { readonly is?: unknown } }

export type ValueOf<S> = S extends { readonly is?: infer T } ? Exclude<T, undefined> : unknown

type OptionalKeys<F> = { [K in keyof F]: F[K] extends { readonly optional: true } ? K : never }[keyof F]

/** `& unknown` keeps the type anonymous, so that editors show the properties. */
export type Flat<T> = { [K in keyof T]: T[K] } & unknown

/** A field that may be absent may be undefined: JSON drops it. */
export type ObjectValue<F> = Flat<
  { [K in Exclude<keyof F, OptionalKeys<F>>]: ValueOf<F[K]> } & {
    [K in OptionalKeys<F>]?: ValueOf<F[K]> | undefined
  }
>

type Typed<S, T> = S & { readonly is?: T }

export const text = (rules: Omit<TextSchema, 'type'> = {}): Typed<TextSchema, string> => ({ type: 'text', ...rules })
export const uuid = (): Typed<UuidSchema, string> => ({ type: 'uuid' })
export const taskId = (rules: Omit<TaskIdSchema, 'type'> = {}): Typed<TaskIdSchema, string> => ({
  type: 'taskId',
  ...rules,
})
export const integer = (rules: Omit<IntegerSchema, 'type'> = {}): Typed<IntegerSchema, number> => ({
  type: 'integer',
  ...rules,
})
export const number = (rules: Omit<NumberSchema, 'type'> = {}): Typed<NumberSchema, number> => ({
  type: 'number',
  ...rules,
})
export const boolean = (): Typed<BooleanSchema, boolean> => ({ type: 'boolean' })
export const timestamp = (): Typed<TimestampSchema, string> => ({ type: 'timestamp' })
/** @param values a list, or a text with commas: `'ON, OFF'` */
export const enumeration = <const V extends readonly string[] | string>(
  values: V,
  rules: { readonly valuesSince?: Readonly<Record<string, string>> } = {},
): Typed<EnumerationSchema, V extends string ? NameIn<V> : V[number]> => ({
  type: 'enumeration',
  values: typeof values === 'string' ? names(values) : values,
  ...rules,
})
export const anything = (): Typed<AnythingSchema, unknown> => ({ type: 'anything' })
export const mapOf = <S extends AnySchema>(values: S): Typed<MapSchema, { readonly [key: string]: ValueOf<S> }> => ({
  type: 'map',
  values,
})
export const arrayOf = <S extends AnySchema>(
  items: S,
  rules: Pick<ListSchema, 'minItems' | 'maxItems' | 'uniqueItems'> = {},
): Typed<ListSchema, ValueOf<S>[]> => ({ type: 'list', items, ...rules })
/** Exactly one alternative, chosen by `$objectType` or, without it, by required fields. */
export const oneOf = <A extends readonly AnySchema[]>(...alternatives: A): Typed<OneOfSchema, ValueOf<A[number]>> => ({
  type: 'oneOf',
  alternatives,
})
export const object = <const F extends Fields>(
  objectType: string,
  fields: F,
  rules: Pick<ObjectSchema, 'filteredBy' | 'foldsInto'> = {},
): Typed<ObjectSchema<F>, Flat<ObjectValue<F> & { readonly $objectType?: string | undefined }>> => ({
  type: 'object',
  ...(objectType === '' ? {} : { objectType }),
  fields,
  ...rules,
})
/** Unknown or invisible ids are refused (404) before the handler; a referenced entity cannot be deleted, unless its kind says otherwise. */
export const referenceTo = (kind: string): Typed<UuidSchema, string> => ({ type: 'uuid', refersTo: kind })
export const referenceToEither = (kind: string, other: string): Typed<UuidSchema, string> => ({
  ...referenceTo(kind),
  orRefersTo: other,
})

/** Applies `change` to the schema and to every schema within it, innermost first. */
export function mapped<S extends AnySchema>(schema: S, change: (schema: AnySchema) => AnySchema): S {
  const within = (inner: AnySchema): AnySchema => {
    switch (inner.type) {
      case 'object': {
        const fields = Object.entries(inner.fields).map(([name, field]) => [name, within(field)] as const)
        return change({ ...inner, fields: Object.fromEntries(fields) })
      }
      case 'list':
        return change({ ...inner, items: within(inner.items) })
      case 'map':
        return change({ ...inner, values: within(inner.values) })
      case 'oneOf':
        return change({ ...inner, alternatives: inner.alternatives.map(within) })
      default:
        return change(inner)
    }
  }
  return within(schema) as S
}

/** For ids of another installation: not checked here, and no obstacle to the deletion of local entities. */
export const ofAnotherWorld = <S extends AnySchema>(schema: S): S =>
  mapped(schema, (each) => {
    if (each.type !== 'uuid') return each
    const { refersTo, orRefersTo, ...plain } = each
    return plain
  })

export const optional = <S extends AnySchema>(schema: S): S & { readonly optional: true } => ({
  ...schema,
  optional: true,
})
export const optionalObject = <const F extends Fields>(...given: Parameters<typeof object<F>>) =>
  optional(object(...given))
export const readOnly = <S extends AnySchema>(schema: S): S & { readonly optional: true; readonly readOnly: true } => ({
  ...schema,
  optional: true,
  readOnly: true,
})
export const immutable = <S extends AnySchema>(schema: S): S & { readonly immutable: true } => ({
  ...schema,
  immutable: true,
})
/** A secret is optional on read and update; a kind that requires it at creation checks that itself. */
export const secret = <S extends AnySchema>(schema: S): S & { readonly secret: true; readonly optional: true } => ({
  ...schema,
  secret: true,
  optional: true,
})
/** Created by the server; only the answer to the creation carries it (conventions 13). */
export const oneTimeSecret = <S extends AnySchema>(
  schema: S,
): S & { readonly optional: true; readonly readOnly: true; readonly secret: true; readonly oneTime: true } => ({
  ...schema,
  optional: true,
  readOnly: true,
  secret: true,
  oneTime: true,
})
export const withDefault = <S extends AnySchema>(
  schema: S,
  value: ValueOf<S>,
): S & { readonly optional: true; readonly defaultsTo: unknown } => ({ ...schema, optional: true, defaultsTo: value })
/** The name of another entity, hidden from callers who may not see that entity. */
export const visibleWith = <S extends AnySchema>(kind: string, by: string, schema: S): S => ({
  ...schema,
  visibleWith: { kind, by },
})
/** Older versions of the namespace do not show the field; a PUT through one keeps its value. */
export const since = <S extends AnySchema>(version: string, schema: S): S & { readonly since: string } => ({
  ...schema,
  since: version,
})

export const requiredSince = <S extends AnySchema>(
  version: string,
  schema: S,
): S & { readonly optional: true; readonly requiredSince: string } => ({
  ...schema,
  optional: true,
  requiredSince: version,
})

/** @param version absent: the newest */
export const isRequiredIn = ({ requiredSince }: AnySchema, version?: string): boolean =>
  requiredSince !== undefined && (version === undefined || requiredSince <= version)

export const secretMask = '********'

export function* walk(
  schema: AnySchema,
  path: readonly string[] = [],
): Generator<{ path: readonly string[]; schema: AnySchema }> {
  yield { path, schema }
  if (schema.type === 'object') {
    for (const [name, field] of Object.entries(schema.fields)) yield* walk(field, [...path, name])
  } else if (schema.type === 'list') {
    yield* walk(schema.items, path)
  } else if (schema.type === 'map') {
    yield* walk(schema.values, path)
  } else if (schema.type === 'oneOf') {
    for (const alternative of schema.alternatives) yield* walk(alternative, path)
  }
}
