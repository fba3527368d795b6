/** Finds targets of events by name: entities, and things of the simulated world only. */
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { DirectoryService } from '@hyperplane/contract/iam/directory-service'
import { BgpSession } from '@hyperplane/contract/networking/bgp-session'
import { NetworkController } from '@hyperplane/contract/networking/network-controller'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { IscsiClient } from '@hyperplane/contract/volumes/iscsi-client'
import { NvmfClient } from '@hyperplane/contract/volumes/nvmf-client'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { ApiError, invalid } from '../core/api-error.ts'
import { nearest } from '../core/input/nearest.ts'
import { driveFacts } from '../drivers/simulated/drives.ts'
import type { Naming, Target } from '../drivers/simulated/events/index.ts'
import { placeCollections } from '../drivers/simulated/events/services.ts'
import { outsideVms } from '../drivers/simulated/external-hypervisor.ts'
import { remoteSides } from '../drivers/simulated/remote-managers.ts'
import type { SimulatedWorld } from '../drivers/simulated/world.ts'
import { isSimulatedHost } from '../drivers/web.ts'
import type { Reader } from '../store/store.ts'

type Found = Omit<Target, 'kind'>

interface SearchContext {
  readonly store: Reader
  readonly world: SimulatedWorld
}

/** `names`: suggestions, if nothing was found. */
interface Search {
  readonly found: readonly Found[]
  readonly names: () => Promise<readonly string[]>
}

const comparedNames = 1000
const shownIds = 5
const shownNames = 5

/** @throws ApiError 404 with the nearest names; 400 when several targets have the name */
export async function findTarget(ctx: SearchContext, { kind, text, field }: Naming): Promise<Target> {
  return { kind, ...(await only(await searches[kind](ctx, text), { kind, text, attributePath: `event/${field}` })) }
}

export async function findNamed(
  ctx: SearchContext,
  resource: AnyResource & { readonly title: string },
  named: Pick<Wanted, 'attributePath' | 'text'>,
): Promise<Found> {
  // Kinds that events name have a name.
  return only(await rowsOf(resource, 'name' as never)(ctx, named.text), { kind: resource.title, ...named })
}

interface Wanted {
  readonly kind: string
  readonly text: string
  readonly attributePath: string
}

async function only({ found, names }: Search, { kind, text, attributePath }: Wanted): Promise<Found> {
  const [first, ...others] = found
  if (first === undefined) {
    const given = { kind, name: text, nearest: suggestions(text, await names()) }
    throw new ApiError('WORLD_EVENT_TARGET_UNKNOWN', given, { extra: { attributePath } })
  }
  if (others.length === 0) return first
  const ids = found.slice(0, shownIds).map(({ extId }) => extId)
  const more = found.length > shownIds ? ', …' : ''
  throw invalid(
    attributePath,
    `expected the id of one ${kind}: ${found.length} are called "${text}": ${ids.join(', ')}${more}`,
  )
}

export const candidateNames = async (ctx: SearchContext, kind: Naming['kind']): Promise<readonly string[]> =>
  (await searches[kind](ctx, '')).names()

/** Any names if none is similar, as with serial numbers. */
function suggestions(text: string, names: readonly string[]): string {
  const near = nearest(text, names)
  if (near.length > 0) return near.join(', ')
  if (names.length === 0) return 'none, there is nothing of the kind'
  const more = names.length > shownNames ? ', …' : ''
  return `none is like it; there are ${names.slice(0, shownNames).join(', ')}${more}`
}

const searches: Readonly<Record<Naming['kind'], (ctx: SearchContext, text: string) => Promise<Search>>> = {
  'BGP session': rowsOf(BgpSession, 'name'),
  'certificate authority': async ({ world }, text) => keysOf(world, ['web.authorities'], text),
  cluster: rowsOf(Cluster, 'name'),
  // The simulated world has a content server under every name.
  'content server': async (_, text) => ({ found: [{ extId: text.toLowerCase(), name: text }], names: async () => [] }),
  directory: directories,
  'directory user': async ({ world }, text) => {
    const keys = [...world.collection('directory.users').all().keys()]
    const wanted = text.toLowerCase()
    return searchResult(keys.filter((key) => key === wanted || key.endsWith(`/${wanted}`)).map(namedByKey), keys)
  },
  disk: async ({ world }, text) =>
    matching(
      [...driveFacts(world).all()].map(([extId, { serialNumber: name }]) => ({ extId, name })),
      text,
    ),
  'external VM': async ({ world }, text) =>
    matching(
      [...outsideVms(world).all()].map(([extId, { vm }]) => ({ extId, name: vm.name ?? extId })),
      text,
    ),
  host: rowsOf(Host, 'hostName'),
  'network controller': async ({ store }) => {
    const [controller] = await store.find(NetworkController)
    const found = controller === undefined ? [] : [{ extId: controller.extId, name: 'controller' }]
    return searchResult(
      found,
      found.map(({ name }) => name),
    )
  },
  'place of backups': async ({ store, world }, text) => {
    const keys = placeCollections.flatMap((collection) => [...world.collection(collection).all().keys()])
    const clusters = await store.getMany(Cluster, keys)
    const named = clusters.map(({ extId, name }) => ({ extId, name }))
    const others = keys.filter((key) => !clusters.some(({ extId }) => extId === key)).map(namedByKey)
    return matching([...named, ...others], text)
  },
  'remote cluster or manager': async ({ world }, text) =>
    matching(
      [...remoteSides(world).all()].map(([extId, { name }]) => ({ extId, name })),
      text,
    ),
  'storage client': async (ctx, text) => {
    const iscsi = await rowsOf(IscsiClient, 'iscsiInitiatorName')(ctx, text)
    const nvmf = await rowsOf(NvmfClient, 'nvmfInitiatorName')(ctx, text)
    const names = async () => [...(await iscsi.names()), ...(await nvmf.names())]
    return { found: [...iscsi.found, ...nvmf.found], names }
  },
  'storage container': rowsOf(StorageContainer, 'name', ({ clusterExtId }) =>
    clusterExtId === undefined ? {} : { clusterExtId },
  ),
  subnet: rowsOf(Subnet, 'name'),
  VM: rowsOf(Vm, 'name'),
  'volume disk': rowsOf(VolumeDisk, 'extId'),
  'volume group': rowsOf(VolumeGroup, 'name'),
  'VPN connection': rowsOf(VpnConnection, 'name'),
  'web server': async ({ world }, text) => {
    const documents = [...world.collection('web.documents').all().keys()].map((url) => new URL(url).hostname)
    return keysOf(world, ['web.authorities', 'web.faults'], text, documents)
  },
}

function rowsOf<R extends AnyResource>(
  kind: R,
  field: keyof EntityOf<R> & string,
  more: (row: EntityOf<R>) => Partial<Found> = () => ({}),
) {
  const nameOf = (row: EntityOf<R>): string => (row[field] as string | undefined) ?? row.extId
  return async ({ store }: SearchContext, text: string): Promise<Search> => {
    const byId = await store.get(kind, text.toLowerCase())
    const rows = byId === undefined ? await store.findWhere(kind, { [field]: text }) : [byId]
    return {
      found: rows.map((row) => ({ extId: row.extId, name: nameOf(row), ...more(row) })),
      names: async () => (await store.page(kind, { offset: 0, limit: comparedNames })).entities.map(nameOf),
    }
  }
}

/** Services with all their servers, and single servers by host name. */
async function directories({ store, world }: SearchContext, text: string): Promise<Search> {
  const services = (await store.find(DirectoryService)).map((service) => ({
    extId: service.extId,
    name: service.name,
    servers: [service.url, ...(service.secondaryUrls ?? [])]
      .filter((url) => URL.canParse(url))
      .map((url) => new URL(url).hostname.toLowerCase())
      .filter(isSimulatedHost),
  }))
  const hosts = [...services.flatMap(({ servers }) => servers), ...world.collection('directory.hosts').all().keys()]
  const servers = [...new Set(hosts)].map((host) => ({ extId: host, name: host, servers: [host] }))
  return matching([...services, ...servers], text)
}

const namedByKey = (key: string): Found => ({ extId: key, name: key })

const searchResult = (found: readonly Found[], names: readonly string[]): Search => ({
  found,
  names: async () => names,
})

const matching = (all: readonly Found[], text: string): Search =>
  searchResult(
    all.filter(({ extId, name }) => name === text || extId === text.toLowerCase()),
    all.map(({ name }) => name),
  )

function keysOf(
  world: SimulatedWorld,
  collections: readonly string[],
  text: string,
  more: readonly string[] = [],
): Search {
  const keys = new Set([...more, ...collections.flatMap((name) => [...world.collection(name).all().keys()])])
  return matching([...keys].map(namedByKey), text)
}
