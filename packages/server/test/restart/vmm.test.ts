import { killAtEveryStep } from './killing.ts'

killAtEveryStep('vmm')
