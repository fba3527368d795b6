import type { Resource } from '@hyperplane/contract'
import { FaultRule } from '@hyperplane/contract/control/fault'
import { Journal } from '@hyperplane/contract/control/journal'
import { call } from './call.ts'
import { catalogue } from './catalogue.ts'
import { clock } from './clock.ts'
import { fault } from './fault.ts'
import { journal } from './journal.ts'
import { network } from './network.ts'
import { world } from './world.ts'
import { worldEvent } from './world-event.ts'

export const worldsDomains = { catalogue, world }

export const worldDomains = { call, clock, fault, journal, network, worldEvent }

export const worldKinds: readonly Resource[] = [FaultRule, Journal]
