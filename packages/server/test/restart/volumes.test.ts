import { killAtEveryStep } from './killing.ts'

killAtEveryStep('volumes')
