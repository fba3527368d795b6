import assert from 'node:assert/strict'
import { test } from 'node:test'
import { names } from '@hyperplane/contract/names'
import { driverCalls, driversOfEmptyWorld, methodsOf } from './calls.ts'

type Drivers = typeof driversOfEmptyWorld
type NoCallOf<D> = { [M in keyof D]: D[M] extends (...given: never[]) => Promise<unknown> ? never : M }[keyof D] &
  string

/** A method that returns a promise does not compile here. */
const withoutPromise = {
  blockStorage: names('hydrationOf, imagesIn, sessionsOf, thickDisksIn'),
  contentSource: names('read, unmanaged'),
  directory: [],
  externalHypervisor: names('areToolsRunning, datastoreOf, guestOf, isConnected, layers, watch'),
  hardware: names(`
    conditionOf, controllerVm, devicesOf, drivesOf, foreignBytes, imageOf, isHostUp, isReachable, log, memberSince,
    nodeOf, servicesStoppedBy, unconfiguredNodes, watch
  `),
  hypervisor: names(`
    fullContainers, heldAtStart, hydrations, layer, layers, screenOf, vmGroups, watch, watchVmGroups
  `),
  networkFabric: names('bonds, bridges, hostNics, taps'),
  objectStore: names('knows'),
  ovaFiles: names('read'),
  remoteManagers: names('knows, watch'),
  telemetry: [],
  traps: names('close, refusalOf'),
  web: [],
} satisfies { readonly [D in keyof Drivers]: readonly NoCallOf<Drivers[D]>[] }

test('fault rules reach every method of a driver that returns a promise', () => {
  for (const [name, driver] of Object.entries(driversOfEmptyWorld)) {
    const reached = [...(driverCalls[name] ?? []), ...withoutPromise[name as keyof Drivers]]
    const missed = [...methodsOf(driver)].filter((method) => !reached.includes(method))
    assert.deepEqual(missed, [], `${name} has methods that are not async`)
  }
})
