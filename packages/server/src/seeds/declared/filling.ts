/** Shared while described entities are created. A fault skips its entity only; all are reported at the end, and nothing is stored. */

import type { AnyResource, EntityOf, Operation } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Role } from '@hyperplane/contract/iam/role'
import { User } from '@hyperplane/contract/iam/user'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { Category } from '@hyperplane/contract/platform/category'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError, type AppMessage, Refusal } from '../../core/api-error.ts'
import { systemCaller } from '../../core/caller.ts'
import { didYouMean } from '../../core/input/nearest.ts'
import { AbsentService } from '../../core/pipeline/assemble.ts'
import { nameFields, namesOfEntity } from '../../core/pipeline/fault-site.ts'
import { validateRequestBody } from '../../core/pipeline/input.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import { isManager } from '../../domains/containers/storage-containers.ts'
import { isNative } from '../../domains/vmm/vm/create/clusters.ts'
import type { ClusterSettings } from '../../drivers/hardware.ts'
import { UniqueViolation } from '../../store/store.ts'
import { Acting, operationOf, type Performance } from '../acting.ts'
import type { SeedContext } from '../context.ts'
import { eachOf } from '../numbered.ts'
import type { Layer } from '../read-seed.ts'
import { isUuid, type Names } from '../readable.ts'
import { maximumFaults, type SeedFault } from '../seed-refusal.ts'

export type ClusterEntity = Cluster

class Ended extends Error {}

interface Described {
  readonly name?: string
  readonly value?: string
  readonly extId?: string
  readonly count?: number
}
/** @param isError the message is an error of the API, which names the attribute where needed */
type NoteFault = (attributePath: string | undefined, message: string, isError?: true) => void
type Make<T> = (item: T, path: string, number: number) => Promise<void>

export class Filling implements Names {
  readonly ctx: SeedContext
  readonly faults: SeedFault[] = []
  /** By cluster id; they take precedence over settings of a profile. */
  readonly settings = new Map<string, ClusterSettings>()
  readonly #layer: Layer
  /** References to these entities are not reported as further faults. */
  readonly #failed = new Set<string>()
  readonly #described = new Set<string>()
  readonly #cache = new Map<string, unknown>()
  readonly #valid = new Set<string>()
  readonly #created = new Map<string, string>()
  #acting: Acting | undefined

  constructor(ctx: SeedContext, layer: Layer) {
    this.ctx = ctx
    this.#layer = layer
  }

  get isFull(): boolean {
    return this.faults.length >= maximumFaults
  }

  async each<T extends Described>(section: string, items: readonly T[] | undefined, make: Make<T>): Promise<void> {
    for (const [index, item] of (items ?? []).entries()) await this.described(section, index, item, make)
  }

  async described<T extends Described>(section: string, index: number, described: T, make: Make<T>): Promise<void> {
    const path = `${section}[${index}]`
    for (const [item, number] of eachOf(described)) {
      if (this.isFull) return
      const name = keyOf(section, item)
      if (this.#described.has(name)) {
        this.note(path, `${name} is described twice: give one of them another name`)
        continue
      }
      this.#described.add(name)
      if (!(await this.item(path, () => make(item, path, number)))) this.#failed.add(name)
    }
  }

  /** @returns false if the entity was not created because of a recorded fault: its own, or one of an entity it names */
  async item(path: string, make: () => Promise<void>): Promise<boolean> {
    const before = this.faults.length
    try {
      await make()
    } catch (error) {
      if (!(error instanceof Ended)) this.note(path, messageOf(error))
      return false
    }
    return this.faults.length === before
  }

  note(path: string, message: string): void {
    this.faults.push({ ...this.#layer.placeOf(path), path, message })
  }

  /** Reports all dangling names before the entity is skipped. */
  async all<T extends readonly unknown[]>(lookups: { readonly [I in keyof T]: () => Promise<T[I]> }): Promise<T> {
    const results: unknown[] = []
    let hasEnded = false
    for (const lookup of lookups) {
      try {
        results.push(await lookup())
      } catch (error) {
        if (!(error instanceof Ended)) throw error
        hasEnded = true
      }
    }
    if (hasEnded) throw new Ended()
    return results as unknown as T
  }

  refuse(path: string, message: string): never {
    this.note(path, message)
    throw new Ended()
  }

  /** By the rules of the create operation; only the first of several bodies with equal `like`. @returns the body after defaults */
  judge(path: string, key: string, body: object, { like, clusterId }: { like?: string; clusterId?: string } = {}) {
    if (like !== undefined && this.#valid.has(like)) return body
    const value = this.#validated(operationOf(key), { body, clusterId }, this.#notesOf(path))
    if (like !== undefined) this.#valid.add(like)
    return value
  }

  async perform(path: string, key: string, performance: Performance): Promise<void> {
    const operation = operationOf(key)
    const body = this.#validated(operation, performance, this.#notesOf(path))
    await this.#act().perform(operation, { ...performance, body })
  }

  /** Reports faults at their places in the seed. @returns ids among which is that of the created entity */
  async performWritten(path: string, operation: Operation, performance: Performance): Promise<readonly string[]> {
    const note: NoteFault = (attributePath = '$', message) =>
      this.note(`${path}.body${attributePath === '$' ? '' : `.${attributePath.replaceAll('/', '.')}`}`, message)
    const body = this.#validated(operation, performance, note)
    try {
      return await this.#act().perform(operation, { ...performance, body })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      for (const { message, argumentsMap } of messagesOf(error)) note(argumentsMap?.['attributePath'], message, true)
      throw new Ended()
    }
  }

  #notesOf(path: string): NoteFault {
    return (attributePath, message, isError) => this.note(path, isError ? message : `${attributePath}: ${message}`)
  }

  #validated(operation: Operation, { path = {}, clusterId, body }: Omit<Performance, 'called'>, note: NoteFault) {
    if (operation.body === undefined) return undefined
    const [version] = operation.versions as readonly [string]
    const { value, faults } = validateRequestBody(operation, body, { unknown: 'refuse', version })
    for (const { attributePath, message } of faults) note(attributePath, message)
    if (faults.length > 0) throw new Ended()
    // Each rule declares the body of its own operation.
    const request = { path, query: {}, headers: { clusterId }, body: value } as never
    const ctx = { operation, caller: systemCaller(this.ctx.tenantId), version, clock: this.ctx.clock }
    const broken = this.#act().rules.get(operation.key)?.(request, ctx) ?? []
    for (const { message, appMessage } of broken) note(appMessage.argumentsMap?.['attributePath'], message, true)
    if (broken.length > 0) throw new Ended()
    return value
  }

  canPerform = (operation: Operation): boolean => this.#act().canPerform(operation)

  #act(): Acting {
    this.#acting ??= new Acting(this.ctx)
    return this.#acting
  }

  cluster = (name: string, path: string) => this.named(Cluster, name, path)
  subnet = (name: string, path: string) => this.named(Subnet, name, path)
  vpc = (name: string, path: string) => this.named(Vpc, name, path)
  image = (name: string, path: string) => this.named(Image, name, path)
  vm = (name: string, path: string) => this.named(Vm, name, path)
  user = (name: string, path: string) => this.named(User, name, path)
  role = (name: string, path: string) => this.named(Role, name, path)
  category = (name: string, path: string) => this.named(Category, name, path)

  /** A category is named `Environment/Dev`. */
  named<R extends AnyResource>(kind: R, name: string, path: string): Promise<EntityOf<R>> {
    const all = async (): Promise<EntityOf<R>[]> => this.ctx.store.find(kind, { limit: 10_000 })
    return this.#resolve(
      sectionOf(kind),
      name,
      path,
      async () => {
        const where = this.#whereName(kind, name)
        if (where !== undefined) return this.ctx.store.findWhere(kind, where)
        return (await all()).filter((each) => namesOfEntity(each).includes(name))
      },
      async () => (await all()).slice(0, 1000).flatMap((each) => namesOfEntity(each).slice(0, 1)),
    )
  }

  /** Undefined for kinds without a name column, which have few entities. */
  #whereName({ kind }: AnyResource, name: string): Record<string, string> | undefined {
    const columns = this.ctx.backup.tables.get(kind)?.columnOf
    if (kind === Category.kind) {
      const [key = '', value = ''] = name.split(/\/(.*)/s)
      return { key, value }
    }
    const field = nameFields.find((each) => columns?.has(each))
    return field === undefined ? undefined : { [field]: name }
  }

  /** Without a kind: `Kind/name`, or the name of an earlier operation. */
  async idOf(kind: string | undefined, name: string, path: string): Promise<string> {
    if (kind === undefined) return this.#idOfAny(name, path)
    const created = this.#created.get(`${kind} ${name}`)
    if (created !== undefined) return created
    const resource = this.ctx.machinery.kinds.resource(kind)
    if (resource === undefined || resource.derived === true)
      return this.refuse(path, `"${name}" is no id: entities of the kind ${kind} have no names`)
    const [cluster, container] = kind === StorageContainer.kind ? name.split(/\/(.*)/s) : []
    if (cluster !== undefined && container !== undefined)
      return (await this.container(await this.cluster(cluster, path), container, path)).extId
    return (await this.named(resource, name, path)).extId
  }

  #idOfAny(name: string, path: string): Promise<string> {
    const [kind = '', own] = name.split(/\/(.*)/s)
    if (own !== undefined && this.ctx.machinery.kinds.resource(kind) !== undefined) return this.idOf(kind, own, path)
    return this.refuse(path, `expected an id, or Kind/name such as Image/ubuntu; found "${name}"`)
  }

  idOrName = async (kind: string, text: string, path: string): Promise<string> =>
    isUuid(text) ? text.toLowerCase() : this.idOf(kind, text, path)

  noteCreated(kind: AnyResource, name: string, extId: string): void {
    this.#created.set(`${kind.kind} ${name}`, extId)
    this.forget()
  }

  noteFailed(kind: AnyResource, name: string): void {
    this.#failed.add(`${sectionOf(kind)} ${name}`)
  }

  /** `default` names the cluster's own default container. */
  container = (cluster: ClusterEntity, name: string, path: string): Promise<StorageContainer> => {
    const own = async (): Promise<StorageContainer[]> =>
      this.ctx.store.findWhere(StorageContainer, { clusterExtId: cluster.extId })
    const isMeant = (each: StorageContainer): boolean =>
      name === 'default' ? each.name.startsWith('default-container') || each.name === name : each.name === name
    return this.#resolve(
      `containers of ${cluster.name}`,
      name,
      path,
      async () => (await own()).filter(isMeant),
      async () => ['default', ...(await own()).map((each) => each.name)],
    )
  }

  async categories(names: readonly string[] | undefined, path: string): Promise<string[]> {
    const found = await this.all((names ?? []).map((name, index) => () => this.category(name, `${path}[${index}]`)))
    return found.map(({ extId }) => extId)
  }

  natives(): Promise<readonly ClusterEntity[]> {
    return this.#once('natives', async () => (await this.ctx.store.find(Cluster)).filter(isNative))
  }

  externals(): Promise<readonly ClusterEntity[]> {
    return this.#once('externals', async () =>
      (await this.ctx.store.find(Cluster)).filter((each) => !isNative(each) && !isManager(each)),
    )
  }

  /** The named cluster, else the only native one. */
  async clusterOr(name: string | undefined, path: string): Promise<ClusterEntity> {
    if (name !== undefined) return this.cluster(name, `${path}.cluster`)
    const natives = await this.natives()
    if (natives.length === 1) return natives[0] as ClusterEntity
    const which =
      natives.length === 0 ? 'there is no native cluster' : `there are ${natives.map((each) => each.name).join(', ')}`
    return this.refuse(path, `cluster is missing: ${which}`)
  }

  forget(): void {
    this.#cache.clear()
  }

  async #resolve<T>(
    section: string,
    name: string,
    path: string,
    find: () => Promise<readonly T[]>,
    names: () => Promise<readonly string[]>,
  ): Promise<T> {
    return this.#once(`${section} ${name}`, async () => {
      const [found, other] = await find()
      if (found !== undefined && other === undefined) return found
      if (this.#failed.has(`${section} ${name}`)) throw new Ended()
      if (other !== undefined)
        return this.refuse(path, `"${name}" names several of the ${section} that there are: name another`)
      return this.refuse(path, `"${name}" is none of the ${section} that there are${didYouMean(name, await names())}`)
    })
  }

  async #once<T>(key: string, find: () => Promise<T>): Promise<T> {
    if (this.#cache.has(key)) return this.#cache.get(key) as T
    const found = await find()
    this.#cache.set(key, found)
    return found
  }
}

const sections: Readonly<Record<string, string>> = {
  Category: 'categories',
  DirectoryService: 'directories',
  SamlIdentityProvider: 'samlIdentityProviders',
  Vm: 'vms',
  Vpc: 'vpcs',
}

const sectionOf = ({ kind }: AnyResource): string =>
  sections[kind] ?? `${kind.charAt(0).toLowerCase()}${kind.slice(1)}s`

function keyOf(section: string, item: { readonly name?: string; readonly value?: string }): string {
  const { key } = item as { key?: string }
  return `${section} ${key === undefined ? item.name : `${key}/${item.value}`}`
}

const messagesOf = (error: ApiError): readonly AppMessage[] => [error.appMessage, ...error.further]

function messageOf(error: unknown): string {
  if (error instanceof ApiError)
    return messagesOf(error)
      .map(({ message }) => message)
      .join('; ')
  if (error instanceof Refusal) return error.message
  if (error instanceof DriverError) return error.appMessage?.message ?? error.message
  if (error instanceof AbsentService) return error.message
  if (error instanceof UniqueViolation)
    return `there is one already with the same ${error.fields.length === 0 ? 'id' : error.fields.join(' and ')}`
  throw error
}
