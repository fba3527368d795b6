/** Hosts of the simulated world are simulated; all others are reached over the network. */

import type { pino } from 'pino'
import type { Config } from '../config/config.ts'
import type { AddressGuard } from '../core/access/address-guard.ts'
import type { Faults } from '../core/faults.ts'
import type { Clock } from '../core/time/clock.ts'
import { amidFaults } from '../drivers/amid-faults.ts'
import type { ContentStore } from '../drivers/content-store.ts'
import { createDirectoryTries } from '../drivers/directory-tries.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { createHttpWeb } from '../drivers/http/web.ts'
import { createLdapDirectory } from '../drivers/ldap/directory.ts'
import { objectStoreByPlace } from '../drivers/object-stores.ts'
import { createPeerManagers } from '../drivers/remote/peer-managers.ts'
import { chooseRemotes } from '../drivers/remote-choice.ts'
import { createS3ContentStore } from '../drivers/s3/content-store.ts'
import { createS3ObjectStore } from '../drivers/s3/object-store.ts'
import { driverCalls } from '../drivers/simulated/calls.ts'
import { createSimulatedDrivers } from '../drivers/simulated/index.ts'
import type { SimulatedWorld } from '../drivers/simulated/world.ts'
import { createTrapSender } from '../drivers/snmp/trap-sender.ts'
import { isSimulatedHost, webByHost } from '../drivers/web.ts'

export interface DriverSettings {
  readonly config: Config
  readonly name: string
  readonly localUrl: () => string
  readonly world: SimulatedWorld
  readonly folder: string
  readonly guard: AddressGuard
  readonly registrationGuard: AddressGuard
  readonly receiverGuard: AddressGuard
  readonly real: Clock
  readonly faults?: Faults | undefined
  readonly log: pino.Logger
}

export function openDrivers(settings: DriverSettings): Drivers {
  const drivers = chooseDrivers(settings)
  return settings.faults === undefined ? drivers : amidFaults(drivers, driverCalls, settings.faults)
}

function chooseDrivers({
  config,
  name,
  localUrl,
  world,
  folder,
  guard,
  registrationGuard,
  receiverGuard,
  real,
  log,
}: DriverSettings): Drivers {
  const contentStore = contentStoreOf(config, { guard, real })
  const simulated = createSimulatedDrivers(world, { folder, durations: config.durations, contentStore })
  const ldap = createLdapDirectory(guard)
  const managers = createPeerManagers({
    guard,
    registrationGuard,
    real,
    ownHost: ownHostOf(config, name),
    port: () => portOf(config, localUrl),
  })
  return {
    ...simulated,
    directory: createDirectoryTries({
      driverOf: (url) => (isSimulatedHost(new URL(url).hostname) ? simulated.directory : ldap),
      real,
    }),
    remoteManagers: chooseRemotes(simulated.remoteManagers, managers),
    objectStore: objectStoreByPlace([simulated.objectStore], createS3ObjectStore({ guard, real })),
    traps: createTrapSender({ guard: receiverGuard, real, log }),
    web: webByHost(simulated.web, createHttpWeb({ guard, real })),
  }
}

function contentStoreOf(
  { objectStore, objectStoreRegion: region, objectStoreKey }: Config,
  options: Pick<DriverSettings, 'guard' | 'real'>,
): ContentStore | undefined {
  if (objectStore === undefined) return undefined
  const { protocol, hostname, port } = new URL(objectStore)
  const isPlain = protocol === 'http:'
  const service = {
    endpoint: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || (isPlain ? 80 : 443)),
    region,
    style: hostname.endsWith('.amazonaws.com') ? 'host' : 'path',
    skipsCertificateValidation: false,
    ...objectStoreKey,
    ...(isPlain ? { isPlain } : {}),
  } as const
  return createS3ContentStore(service, options)
}

/** Under which other managers reach this one; undefined: the local address of the connection. */
function ownHostOf({ host, publicUrl }: Config, world: string): string | undefined {
  // Requests under any other host name reach the world `default`.
  if (world !== defaultWorld) return `${world.toLowerCase()}.localhost`
  if (publicUrl !== undefined) return new URL(publicUrl).hostname.replace(/^\[(.*)\]$/, '$1')
  return host === '0.0.0.0' || host === '::' ? undefined : host
}

/** Other managers are assumed to listen on the same port. */
function portOf({ port, publicUrl }: Config, localUrl: () => string): number {
  if (publicUrl !== undefined) return Number(new URL(publicUrl).port || 443)
  return port === 0 ? Number(new URL(localUrl()).port) || defaultPort : port
}
const defaultPort = 9440
const defaultWorld = 'default'
