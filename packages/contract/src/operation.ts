/** Functions that declare operations: the function is the verb. Routes, validators and documents derive from the declarations. */
import type { Method } from './method.ts'
import { names } from './names.ts'
import type { RoleName } from './roles.ts'
import * as s from './schema.ts'

export type { Method }

export type Deployment = 'on-prem' | 'cloud'

/** Requests per unit by size of the manager; default for a size: the number of the next lower one, else higher one. */
export interface RateLimit {
  readonly per: 'second' | 'minute'
  readonly xsmall?: number
  readonly small?: number
  readonly large?: number
  readonly xlarge?: number
}

const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

const rate =
  (per: RateLimit['per']) =>
  (xsmall: number, small = xsmall, large = small, xlarge = large): RateLimit => ({ per, xsmall, small, large, xlarge })

/** `perSecond(3)` for every size, or `perSecond(5, 5, 10, 10)` for xsmall, small, large, xlarge. */
export const perSecond = rate('second')
export const perMinute = rate('minute')

export interface Resource<F extends s.Fields = s.Fields, I extends s.Fields = s.Fields> {
  readonly resource: true
  /** Canonical, e.g. `platform.v4.config.Category`. */
  readonly objectType: string
  /** Last part of `objectType`, unique among all kinds: `Category`. */
  readonly kind: string
  /** Name in messages; default: the words of `kind`, `storage container`. */
  readonly title: string
  readonly schema: s.ObjectSchema<F> & {
    readonly is?: s.ObjectValue<F> & { readonly extId: string; readonly $objectType?: string }
  }
  /** Fields that are stored and never answered. */
  readonly internal: I
  /** Entity name in authorization policies, with the paths of attributes for filters. */
  readonly iam?: IamEntity
  /** Noun of its IAM operations, as in `Create_Volume_Group`; default: the words of `title`. */
  readonly iamNoun: string
  /** `rel` of this kind among a task's affected entities; default: the words of `objectType`. */
  readonly rel: string
  /** Type among the associations of a category. Without it the kind is not counted there, but still prevents a deletion. */
  readonly associationType?: string
  /** Sets of field paths with unique values, also among concurrent requests. */
  readonly unique: readonly UniqueRule[]
  /** Path parameter that names the parent, and the (internal) field with the parent's id. */
  readonly parent?: Parent
  /** Absent fields of a PUT keep their value (conventions 3, sparse PUT). */
  readonly sparsePut?: true
  /** Paths that server code filters by; they get a column, like the paths that lists declare. */
  readonly indexed: readonly string[]
  /** Error for an unknown id; default: that of the namespace, else ENTITY_NOT_FOUND. */
  readonly notFound?: string
  /** Error of the namespace for a stale tag; default INVALID_ETAG_HEADER. */
  readonly staleTag?: string
  /** Path parameter of the parent whose entity tag this kind shares. */
  readonly sharesTagOf?: string
  /** Newest first in lists without `$orderby` (tasks, batches, restore points). */
  readonly newestFirst?: true
  /** Rows are computed by the domain, not stored: no table is made. */
  readonly derived?: true
  /** There is exactly one row; paths carry no id. */
  readonly singleton?: true
  /** Counts referrers per kind, for up to 100,000 frequently counted ones. Each reference costs more to write. */
  readonly counted?: true
  /** Sums of numbers by required fields, pending rows included, maintained at each write because they are read often. */
  readonly summed?: { readonly by: readonly string[]; readonly of: readonly string[] }
  /** Product and network controller that must be enabled and reachable before an entity of this kind can change. */
  readonly gate?: Gate
  /** Whether entities leave the manager together with their cluster. */
  readonly ofCluster?: OfCluster | StaysWithManager
  /**
   * Whether a new world has the row. A restore, which overwrites all rows, is refused while there are others. `any`: the fields of
   * the kind are not known here. Source: behaviour platform.md 9.
   */
  readonly isInNewWorld?: (row: any) => boolean
  /** The export of a world omits the rows, and says what replaces them. */
  readonly leftOut?: LeftOutRows | 'unmentioned'
}

export interface Parent {
  readonly param: string
  readonly kind: string
  readonly field: string
  /** Field of the parent with the list of these entities, if they have no rows of their own. */
  readonly listedIn?: string
  /** Kind of rows that are further entries of that list, and name the parent in the same `field`. */
  readonly orRowOf?: string
}

export interface OfCluster {
  /** Path of the id of the cluster, or of the owner of kind `partOf`. A list: the entity leaves its last cluster only. */
  readonly by: string
  /** Kind of the owner, which itself belongs to a cluster. */
  readonly partOf?: string
  /** Not taken along by a cluster: only this manager knows these fields. */
  readonly keptByManager?: readonly string[]
}

export interface LeftOutRows {
  readonly what: string
  readonly instead: string
}

export interface StaysWithManager {
  readonly stays: string
}

/** Conditions of every mutation of a kind, checked after its handler. */
export interface Gate {
  readonly product?: string
  /** The product cannot be disabled while an entity of this kind exists. */
  readonly keepsProductEnabled?: true
  /** Mutations are refused while the network controller does not answer, because it carries them out. */
  readonly networkController?: true
  /** The gate applies only when the body or the stored entity has these values. */
  readonly where?: Readonly<Record<string, string>>
}

/** A kind as a variable; `any`, so that its entities need no cast. */
export type AnyResource = Resource<any, any>

export interface UniqueRule {
  readonly fields: readonly string[]
  readonly ignoreCase?: true
  /** Error of the namespace; default ENTITY_ALREADY_EXISTS. */
  readonly error?: string
}

export interface IamEntity {
  readonly name: string
  /** Filter attribute -> path of the compared field (`uuid` is always there). */
  readonly attributes: Readonly<Record<string, string>>
}

/** An entity as handlers see it, internal fields included. */
export type EntityOf<R> =
  R extends Resource<infer F, infer I>
    ? s.ObjectValue<F> &
        Partial<s.ObjectValue<I>> & { readonly extId: string; readonly $objectType?: string | undefined }
    : never
/** An entity as answers show it. */
export type AnswerOf<R> =
  R extends Resource<infer F, s.Fields>
    ? s.Flat<Omit<s.ObjectValue<F>, 'extId'> & { readonly extId: string; readonly $objectType?: string | undefined }>
    : never
export type BodyOf<R> =
  R extends Resource<infer F, s.Fields>
    ? s.Flat<Omit<s.ObjectValue<F>, 'extId'> & { extId?: string | undefined }>
    : never

export const ApiLink = s.object('common.v1.response.ApiLink', {
  href: s.text({ named: 'href' }),
  rel: s.text(),
})

/** Added by `resource`; nested shapes with these fields spread them. Source: specification 2.1. */
export const baseFields = {
  tenantId: s.readOnly(s.uuid()),
  extId: s.readOnly(s.uuid()),
  links: s.readOnly(s.arrayOf(ApiLink, { maxItems: 20 })),
} as const

type Kept<D, S> = (D extends true ? { readonly derived: true } : unknown) &
  (S extends true ? { readonly singleton: true } : unknown)

export interface ResourceOptions<I extends s.Fields>
  extends Partial<Omit<Resource<s.Fields, I>, 'resource' | 'objectType' | 'schema' | 'iam'>> {
  readonly iam?: IamEntity['attributes']
  /** Name of that entity; default: `iamNoun` in lower case. */
  readonly iamName?: string
  /** Needed when another kind has the last part of the type name, too (`ExternVm`). */
  readonly kind?: string
  /** The wire shape has no base fields; the row has an id all the same. */
  readonly bare?: true
}

const acronyms: ReadonlySet<string> = new Set(
  names('BGP, BMC, GPU, IP, IPFIX, NIC, SAML, SNMP, SSL, VM, VPC, VPN, VTEP'),
)
const wordsOf = (kind: string): string[] =>
  kind.replace(/([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g, '$1$3 $2$4').split(' ')
const titleOf = (kind: string): string =>
  wordsOf(kind)
    .map((word) => (acronyms.has(word.toUpperCase()) ? word.toUpperCase() : word.toLowerCase()))
    .join(' ')

/** `networking:config:bgp-session`. */
function relOf(objectType: string): string {
  const [namespace, , ...path] = objectType.split('.')
  const joint = namespace === 'iam' || namespace === 'platform' ? '_' : '-'
  const last = wordsOf(path.pop() ?? '')
  return [namespace, ...path, last.join(joint).toLowerCase()].join(':')
}

const notFoundOf: Readonly<Record<string, string>> = {
  networking: 'NETWORKING_ENTITY_NOT_FOUND',
  vmm: 'VMM_ENTITY_NOT_FOUND',
  volumes: 'VOLUME_UNKNOWN_ENTITY_ERROR',
}

export function resource<
  const F extends s.Fields,
  const I extends s.Fields = Record<never, never>,
  D extends true | undefined = undefined,
  S extends true | undefined = undefined,
>(
  objectType: string,
  declaration: ResourceOptions<I> & { readonly fields: F; readonly derived?: D; readonly singleton?: S },
): Resource<F & Omit<typeof baseFields, 'extId'>, I> & Kept<D, S> {
  const { fields, bare, iam: attributes, iamName, ...stated } = declaration
  const kind = stated.kind ?? objectType.slice(objectType.lastIndexOf('.') + 1)
  const schema: s.ObjectSchema = s.object(objectType, { ...(bare ? {} : baseFields), ...fields })
  const title = stated.title ?? titleOf(kind)
  const iamNoun = stated.iamNoun ?? title.split(/[ -]/).map(capitalized).join('_')
  const notFound = stated.notFound ?? notFoundOf[objectType.slice(0, objectType.indexOf('.'))]
  const declared: Resource = {
    rel: relOf(objectType),
    internal: {},
    unique: [],
    indexed: [],
    ...stated,
    ...(attributes && { iam: { name: iamName ?? iamNoun.toLowerCase(), attributes } }),
    ...(notFound && { notFound }),
    resource: true,
    objectType,
    kind,
    title,
    schema,
    iamNoun,
  }
  // The compiler cannot follow `bare` and the conditions of `Kept`.
  return declared as never
}

export interface Expansion {
  /** Kind of the expanded entity; absent: the domain fills the property itself. */
  readonly kind?: string
  readonly by?: string
  /** Property that receives the value; default: the name of the expansion. */
  readonly into?: string
  readonly shape?: s.AnySchema
}

/** Source: RFC 7578. */
export interface FormOptions {
  /** Parts that may be files, by name: the field of that name receives the file name, the mapped field its content. */
  readonly files?: Readonly<Record<string, string>>
  /** Parts without a size limit: spooled to a file during the request; the body holds the digest. */
  readonly spooled?: readonly string[]
}

export interface Operation {
  /** operationId of the specification: unique within its namespace, except for the external VMs of vmm. */
  readonly id: string
  readonly namespace: string
  readonly versions: readonly string[]
  /** `<namespace>.<id>`, or `vmm.extern.<id>` for external VMs: unique everywhere. */
  readonly key: string
  readonly stem: string
  readonly verb: 'list' | 'get' | 'create' | 'update' | 'remove' | 'action' | 'read'
  readonly method: Method
  readonly path: string
  readonly resource?: Resource
  /** Path parameter that names the target entity; absent for list and create. */
  readonly target?: string
  /** Kind of each path parameter, where it names an entity. */
  readonly pathKinds: Readonly<Record<string, string>>
  readonly body?: s.AnySchema
  readonly bodyRequired: boolean
  /** Shape of `data`; absent: no body. */
  readonly answer?: s.AnySchema
  readonly envelope: string
  readonly status: 200 | 201 | 202 | 204
  readonly runs: 'sync' | 'async'
  readonly mutates: boolean
  readonly roles: readonly RoleName[] | 'everyone'
  readonly rateLimit: RateLimit
  readonly deployments: readonly Deployment[]
  /** IAM operation that permits it: `Create_Category`. */
  readonly iamOperation: string
  readonly requestId: 'required' | 'optional'
  readonly ifMatch: 'required' | 'optional'
  readonly dryRun: boolean
  readonly clusterId?: 'required' | 'optional'
  /** Path of the owner's id in rows that their owner may access without a policy (own tasks, keys). */
  readonly own?: string
  /** Largest body; default 1 MiB. */
  readonly maximumBodyBytes?: number
  /** The parts of the form are the fields of the declared body; absent: the body is JSON. */
  readonly form?: FormOptions
  readonly pathSchemas: Readonly<Record<string, s.AnySchema>>
  readonly paged: boolean
  /** Largest number of items in one answer, if below the maximum of `$limit`. */
  readonly maximumItems?: number
  /** Field that orders the list without `$orderby`; default: creation. */
  readonly orderedBy?: string
  readonly filter?: readonly string[]
  readonly orderby?: readonly string[]
  readonly select?: readonly string[] | 'any'
  readonly expand?: Readonly<Record<string, Expansion>>
  /** Type name of list items that were expanded, if it differs from the default. */
  readonly expandedType?: string
  /** Type name of list items, expanded or not, if it differs from the default. */
  readonly rowType?: string
  /** An empty list is `data: []` in the public profile too; other operations omit `data` there. */
  readonly showsEmptyList?: true
  /** A `read` of fields of the target: the answer carries the target's entity tag. */
  readonly carriesTag?: true
  readonly apply?: readonly string[]
  /** Further query parameters, such as `$startTime`. */
  readonly query: Readonly<Record<string, s.AnySchema>>
  readonly produces?: string
  /** Further media types of the answer, chosen by the query; `text/plain` by the header `Accept`. */
  readonly alsoProduces?: readonly string[]
  /** Answers with `Deprecation` and `Link: …; rel="successor-version"`. */
  readonly deprecated?: { readonly successor?: string }
}

type Added = 'id' | 'namespace' | 'key' | 'stem' | 'verb' | 'method' | 'path' | 'resource' | 'body' | 'answer'

export interface OperationOptions
  extends Pick<Operation, 'roles'>,
    Partial<Omit<Operation, Added | 'roles' | 'iamOperation'>> {
  readonly iam?: string
  readonly envelope?: string
  readonly requestId?: 'required'
  readonly ifMatch?: 'required'
  readonly dryRun?: true
  readonly mutates?: false
}

/** `'extId'` for `/config/categories/{extId}`. */
export type ParametersOf<P> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | ParametersOf<Rest> : never

export type LastParameterOf<P> = P extends `${string}{${infer Name}}${infer Rest}`
  ? Rest extends `${string}{${string}`
    ? LastParameterOf<Rest>
    : Name
  : never

/** The entity that the last parameter names; `unknown` if the declaration names no kind, or its rows are not stored. */
type TargetOf<R, P> = R extends { readonly singleton: true }
  ? EntityOf<R>
  : [LastParameterOf<P>] extends [never]
    ? undefined
    : R extends { readonly derived: true } | undefined
      ? unknown
      : EntityOf<R>

export interface Declared<B = unknown, A = unknown, V extends Operation['verb'] = Operation['verb'], T = unknown>
  extends OperationOptions {
  readonly verb: V
  readonly method: Method
  readonly path: string
  readonly resource?: AnyResource
  readonly body?: s.AnySchema
  readonly answer?: s.AnySchema
  readonly types?: { body: B; answer: A; target: T }
}

export const TaskReference = s.object('platform.v4.config.TaskReference', { extId: { type: 'taskId' } as const })

type Runs<O> = O extends { runs: 'sync' } | { mutates: false } ? { readonly runs: 'sync' } : unknown

type At<P extends string> = { readonly path: P }

/** Each function below states the types of its declaration: the compiler cannot derive their conditions from the value. */
const declare = <D extends Declared>(declaration: Declared): D => declaration as D

/** Pages unless `paged: false`. */
export const list = <R extends AnyResource, const P extends string>(
  path: P,
  of: R,
  options: OperationOptions,
): Declared<never, AnswerOf<R>[], 'list', undefined> & At<P> => ({
  paged: true,
  ...options,
  verb: 'list',
  method: 'GET',
  path,
  resource: of,
  answer: s.arrayOf(of.schema),
})
export const get = <R extends AnyResource, const P extends string>(
  path: P,
  of: R,
  options: OperationOptions,
): Declared<never, AnswerOf<R>, 'get', TargetOf<R, P>> & At<P> => ({
  ...options,
  verb: 'get',
  method: 'GET',
  path,
  resource: of,
  answer: of.schema,
})
/** A GET that is neither list nor get: statistics, metadata, files. `of` is the kind of the target, if any. */
export const read = <A extends s.AnySchema, const P extends string, R extends AnyResource | undefined = undefined>(
  path: P,
  answer: A,
  options: OperationOptions & { of?: R },
): Declared<never, s.ValueOf<A>, 'read', TargetOf<R, P>> & At<P> => ({
  ...options,
  verb: 'read',
  method: 'GET',
  path,
  answer,
  ...(options.of === undefined ? {} : { resource: options.of }),
})
/** Asynchronous (202, task) unless `runs: 'sync'` (201, entity). `body` replaces the schema of the kind. */
export const create = <
  R extends AnyResource,
  const O extends OperationOptions & { body?: s.AnySchema },
  const P extends string,
>(
  path: P,
  of: R,
  options: O,
): Declared<O extends { body: infer B } ? s.ValueOf<B> : BodyOf<R>, AnswerOf<R>, 'create', undefined> &
  Runs<O> &
  At<P> =>
  declare({
    ...options,
    verb: 'create',
    method: 'POST',
    path,
    resource: of,
    body: options.body ?? of.schema,
    answer: options.runs === 'sync' ? of.schema : TaskReference,
  })
/** Asynchronous unless `runs: 'sync'` (200). `answer`: shape of a synchronous answer; `body` as in `create`. */
export const update = <
  R extends AnyResource,
  const O extends OperationOptions & { method?: 'PATCH'; answer?: s.AnySchema; body?: s.AnySchema },
  const P extends string,
>(
  path: P,
  of: R,
  options: O,
): Declared<
  O extends { body: infer B } ? s.ValueOf<B> : BodyOf<R>,
  O extends { answer: infer A } ? s.ValueOf<A> : AnswerOf<R>,
  'update',
  TargetOf<R, P>
> &
  Runs<O> &
  At<P> =>
  declare({
    ...options,
    verb: 'update',
    method: options.method ?? 'PUT',
    path,
    resource: of,
    body: options.body ?? of.schema,
    answer: options.answer ?? (options.runs === 'sync' ? of.schema : TaskReference),
  })
/** Asynchronous unless `runs: 'sync'` (204). */
export const remove = <R extends AnyResource, const O extends OperationOptions, const P extends string>(
  path: P,
  of: R,
  options: O,
): Declared<never, undefined, 'remove', P extends `${string}}` ? TargetOf<R, P> : unknown> & Runs<O> & At<P> =>
  declare({
    ...options,
    verb: 'remove',
    method: 'DELETE',
    path,
    resource: of,
    ...(options.runs === 'sync' ? {} : { answer: TaskReference }),
  })
/** POST to `…/$actions/<action>`, or another POST that creates no entity of its kind. */
export const action = <
  const O extends OperationOptions & { of?: AnyResource; body?: s.AnySchema; answer?: s.AnySchema },
  const P extends string,
>(
  path: P,
  options: O,
): Declared<
  O extends { body: infer B } ? s.ValueOf<B> : undefined,
  O extends { answer: infer A } ? s.ValueOf<A> : s.ValueOf<typeof TaskReference>,
  'action',
  TargetOf<O extends { of: infer R } ? R : undefined, P>
> &
  Runs<O> &
  At<P> =>
  declare({
    ...options,
    verb: 'action',
    method: 'POST',
    path,
    answer: options.answer ?? TaskReference,
    ...(options.of === undefined ? {} : { resource: options.of }),
  })

/** `any`: accepts declarations of all operations. */
export type OperationSet = { readonly [operationId: string]: Declared<any, any, any, any> }

export interface Namespace {
  readonly name: string
  readonly versions: readonly string[]
  readonly label: string
  readonly operations: readonly Operation[]
  readonly resources: readonly Resource[]
  readonly errors: ErrorCatalogue
  /** Older conventions: Basic only, no If-Match required, clamped paging (storage v4.0.a3). */
  readonly conventions: 'current' | 'alpha'
  /** Path prefixes of the newer namespaces that replace this one: `/volumes/v4.2`. */
  readonly successors: readonly string[]
}

export interface ErrorDefinition {
  readonly code: string
  readonly status: number
  readonly message: string
  /** For programs; default: the key of the entry. */
  readonly group?: string
  /** Names in `argumentsMap` of placeholders that have another name there. */
  readonly argumentNames?: Readonly<Record<string, string>>
}
export type ErrorCatalogue = { readonly [key: string]: ErrorDefinition }

type KindSets = { readonly [stem: string]: OperationSet }
type Merged<K extends KindSets> = Intersection<K[keyof K]>
type Intersection<U> = (U extends unknown ? (of: U) => void : never) extends (of: infer I) => void ? I : never

export type DeclaredOperations<N> = N extends { readonly declared?: infer D } ? Exclude<D, undefined> : never

/** An interface, because a declaration names it instead of writing out the types of all operations. */
export interface DeclaredNamespace<K extends KindSets, G extends { readonly [group: string]: KindSets }>
  extends Namespace {
  readonly declared?: Merged<K> & { readonly [Group in keyof G]: Merged<G[Group]> }
}

/** `groups` becomes part of the key (`extern`). */
export function namespace<
  const K extends KindSets,
  const G extends { readonly [group: string]: KindSets } = Record<never, never>,
>(options: {
  name: string
  versions: readonly string[]
  label: string
  kinds: K
  /** Kinds whose operation ids exist twice in the namespace, by group name. */
  groups?: G
  /** Kinds that have rows and no operation yet. */
  resources?: readonly AnyResource[]
  errors: ErrorCatalogue
  conventions?: 'alpha'
  successors?: readonly string[]
  /** Rate limits of the lists and single reads that state none. */
  rates?: Serving['rates']
  /** Last part of the envelope's type name, if all asynchronous operations of a module share it. */
  taskEnvelope?: string
}): DeclaredNamespace<K, G> {
  const operations: Operation[] = []
  const resources = new Set<Resource>(options.resources)
  const add = (kinds: { readonly [stem: string]: OperationSet }, prefix: string): void => {
    for (const [stem, set] of Object.entries(kinds)) {
      for (const [id, declared] of Object.entries(set)) {
        operations.push(complete(options, prefix + id, id, stem, declared))
        if (declared.resource !== undefined) resources.add(declared.resource)
      }
    }
  }
  add(options.kinds, `${options.name}.`)
  for (const [group, kinds] of Object.entries(options.groups ?? {})) add(kinds, `${options.name}.${group}.`)
  return {
    name: options.name,
    versions: options.versions,
    label: options.label,
    operations,
    resources: [...resources],
    errors: options.errors,
    conventions: options.conventions ?? 'current',
    successors: options.successors ?? [],
  }
}

interface Serving {
  readonly name: string
  readonly versions: readonly string[]
  readonly conventions?: 'alpha'
  readonly rates?: { readonly [verb: string]: RateLimit }
  readonly taskEnvelope?: string
}

function complete(serving: Serving, key: string, id: string, stem: string, declared: Declared): Operation {
  const { iam, types: _, of: __, ...stated } = declared as Declared & { readonly of?: unknown }
  const { verb, method, path, resource } = stated
  const mutates = stated.mutates ?? method !== 'GET'
  const runs = stated.runs ?? (mutates ? 'async' : 'sync')
  const rateLimit = stated.rateLimit ?? serving.rates?.[verb]
  if (rateLimit === undefined) throw new Error(`${key} has no rate limit`)
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string)
  const target = stated.target ?? (verb === 'list' || verb === 'create' ? undefined : parameters.at(-1))
  const parent = resource?.parent
  return {
    versions: serving.versions,
    deployments: ['on-prem', 'cloud'],
    bodyRequired: stated.body !== undefined,
    requestId: 'optional',
    ifMatch: method === 'PUT' && serving.conventions !== 'alpha' ? 'required' : 'optional',
    dryRun: false,
    pathSchemas: {},
    paged: false,
    query: {},
    envelope: envelopeTypeOf(serving, path, id, runs),
    status: defaultStatus(verb, runs),
    ...stated,
    id,
    namespace: serving.name,
    key,
    stem,
    mutates,
    runs,
    rateLimit,
    ...(target !== undefined && { target }),
    pathKinds: {
      ...(parent !== undefined && parameters.includes(parent.param) && { [parent.param]: parent.kind }),
      ...(target !== undefined && resource !== undefined && { [target]: resource.kind }),
      ...stated.pathKinds,
    },
    iamOperation: iam ?? iamOperationOf(key, declared),
  }
}

/** `iam.v4.authz.GetRoleApiResponse` for `getRoleById` at `/authz/roles/{extId}`: the module begins the path; `For…By…Id` is dropped. */
export function envelopeTypeOf(serving: Serving, path: string, id: string, runs: 'sync' | 'async'): string {
  const [major] = serving.versions[0]?.split('.') ?? []
  const module = /^\/(\w+\/(?:config|policies|stats)|\w+)(?=\/)/.exec(path)?.[1]?.replace('/', '.')
  const named = `${capitalized(id).replace(/(For\w+)?By\w*Id$/, '')}ApiResponse`
  return `${serving.name}.${major}.${module}.${(runs === 'async' ? serving.taskEnvelope : undefined) ?? named}`
}

function defaultStatus(verb: Operation['verb'], runs: 'sync' | 'async'): 200 | 201 | 202 | 204 {
  if (runs === 'async') return 202
  if (verb === 'create') return 201
  if (verb === 'remove') return 204
  return 200
}

const iamVerbs = { list: 'View', get: 'View', read: 'View', create: 'Create', update: 'Update', remove: 'Delete' }

/** `View_Volume_Group_Stats`, `Power_Off_Virtual_Machine`: the verb, or the words of the action, and the noun of the kind. */
function iamOperationOf(key: string, { verb, path, resource }: Declared): string {
  if (resource === undefined) throw new Error(`${key} has no kind, so that its IAM operation needs a name (iam)`)
  const words = verb === 'action' ? titled(path.slice(path.lastIndexOf('/') + 1)) : iamVerbs[verb]
  return `${words}_${resource.iamNoun}${/(^|\/)stats\//.test(path) && verb !== 'action' ? '_Stats' : ''}`
}

const titled = (words: string): string => words.split('-').map(capitalized).join('_')
