/**
 * Every call of a driver that takes time or may fail, by name: what rules of faults can speak of. A call that is missing here
 * does not compile.
 */
import type { DirectoryFault } from './directory.ts'
import type { Drivers } from './drivers.ts'
import type { ObjectStoreFault } from './object-store.ts'
import type { RemoteFaultReason } from './remote-managers.ts'
import type { WebFault } from './web.ts'

type CallOf<D> = { [M in keyof D]: D[M] extends (...given: never[]) => Promise<unknown> ? M : never }[keyof D]

export const driverCalls = {
  blockStorage: {
    allow: true,
    createDisk: true,
    deleteDisk: true,
    deny: true,
    plug: true,
    publishDisk: true,
    putTarget: true,
    removeTarget: true,
    resizeDisk: true,
    unplug: true,
    usageOf: true,
  },
  contentSource: { copy: true, digests: true, fetch: true, look: true, remove: true, verify: true },
  directory: { bind: true, findUser: true, groupsOf: true, hasGroup: true, search: true },
  externalHypervisor: { changePower: true, inventory: true, runs: true },
  hardware: {
    leftoverFiles: true,
    mountDatastore: true,
    probeBmc: true,
    putContainer: true,
    readSettings: true,
    removeContainer: true,
    takeBackContainer: true,
    takeBackSettings: true,
    unmountDatastore: true,
    writeSettings: true,
  },
  hypervisor: {
    acknowledge: true,
    createDisk: true,
    defineVm: true,
    deleteDisk: true,
    endCustomization: true,
    fenceVm: true,
    migrateVm: true,
    observeGuests: true,
    requestShutdown: true,
    resetVm: true,
    retryWrites: true,
    startVm: true,
    stopVm: true,
    unaskedStates: true,
    undefineVm: true,
  },
  networkFabric: {
    addBgpPeer: true,
    announceAddresses: true,
    attachRouter: true,
    bgpPeer: true,
    clearPolicyCounters: true,
    controllerState: true,
    deployController: true,
    detachRouter: true,
    installAgent: true,
    installPolicy: true,
    outsideAddress: true,
    programRouter: true,
    programSubnet: true,
    removeAgents: true,
    removeBgpPeer: true,
    removeController: true,
    removePolicy: true,
    removeRouter: true,
    removeSubnet: true,
    serveDhcp: true,
    stopDhcp: true,
    translateSources: true,
  },
  objectStore: { get: true, list: true, put: true, remove: true },
  remoteManagers: {
    exchangeTrust: true,
    identify: true,
    inventory: true,
    keepInventory: true,
    probe: true,
    reach: true,
    revokeTrust: true,
  },
  telemetry: { read: true, readHost: true },
  web: { fetch: true, refusalOf: true },
} as const satisfies { readonly [D in keyof Drivers]: Readonly<Record<CallOf<Drivers[D]> & string, true>> }

/** Drivers that say in words of their own what went wrong; whoever calls them understands those alone. */
export const driverFaults = {
  directory: {
    address: true,
    busy: true,
    credentials: true,
    dns: true,
    protocol: true,
    refused: true,
    timeout: true,
    tls: true,
  } satisfies Record<DirectoryFault, true>,
  objectStore: {
    accessDenied: true,
    full: true,
    noSuchBucket: true,
    noSuchObject: true,
    tlsFailed: true,
    unreachable: true,
  } satisfies Record<ObjectStoreFault, true>,
  remoteManagers: {
    authentication: true,
    certificate: true,
    refused: true,
    unreachable: true,
  } satisfies Record<RemoteFaultReason, true>,
  web: {
    address: true,
    dns: true,
    protocol: true,
    redirect: true,
    refused: true,
    size: true,
    status: true,
    timeout: true,
    tls: true,
  } satisfies Record<WebFault, true>,
} as const
