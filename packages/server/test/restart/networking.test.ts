import { killAtEveryStep } from './killing.ts'

killAtEveryStep('networking')
