/** Which driver serves what: hosts of the simulated world are simulated, all others are reached over the network. */
import type { Config } from './config.ts'
import type { AddressGuard } from './core/address-guard.ts'
import type { Clock } from './core/clock.ts'
import type { Faults } from './core/faults.ts'
import { amidFaults } from './drivers/amid-faults.ts'
import { createDirectoryTries } from './drivers/directory-tries.ts'
import type { Drivers } from './drivers/drivers.ts'
import { createHttpWeb } from './drivers/http/web.ts'
import { createLdapDirectory } from './drivers/ldap/directory.ts'
import { objectStoreByPlace } from './drivers/object-stores.ts'
import { createPeerManagers } from './drivers/remote/peer-managers.ts'
import { chooseRemotes } from './drivers/remote-choice.ts'
import { createS3ObjectStore } from './drivers/s3/object-store.ts'
import { createSimulatedDrivers } from './drivers/simulated/index.ts'
import type { SimulatedWorld } from './drivers/simulated/world.ts'
import { isSimulatedHost, webByHost } from './drivers/web.ts'

export interface DriverSettings {
  readonly config: Config
  readonly world: SimulatedWorld
  /** Where the simulated world keeps files. */
  readonly folder: string
  /** Judges every address that clients have us call. */
  readonly guard: AddressGuard
  /** Networks take real time. */
  readonly real: Clock
  /** What goes wrong with their calls on purpose; undefined: nobody may ask for that. */
  readonly faults?: Faults | undefined
}

export function openDrivers(settings: DriverSettings): Drivers {
  const drivers = chooseDrivers(settings)
  return settings.faults === undefined ? drivers : amidFaults(drivers, settings.faults)
}

function chooseDrivers({ config, world, folder, guard, real }: DriverSettings): Drivers {
  const simulated = createSimulatedDrivers(world, { folder, durations: config.durations })
  const ldap = createLdapDirectory(guard)
  const managers = createPeerManagers({ guard, real, ...reachedAt(config) })
  return {
    ...simulated,
    directory: createDirectoryTries({
      driverOf: (url) => (isSimulatedHost(new URL(url).hostname) ? simulated.directory : ldap),
      real,
    }),
    remoteManagers: chooseRemotes(simulated.remoteManagers, managers),
    objectStore: objectStoreByPlace([simulated.objectStore], createS3ObjectStore({ guard, real })),
    web: webByHost(simulated.web, createHttpWeb({ guard, real })),
  }
}

/** Where other managers find this one; they listen on the port that it listens on. */
function reachedAt({ host, port, publicUrl }: Config): { ownHost: string | undefined; port: number } {
  if (publicUrl !== undefined) {
    const url = new URL(publicUrl)
    return { ownHost: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(url.port || 443) }
  }
  const isEvery = host === '0.0.0.0' || host === '::'
  return { ownHost: isEvery ? undefined : host, port: port === 0 ? usualPort : port }
}
const usualPort = 9440
